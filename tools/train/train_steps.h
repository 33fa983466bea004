// How many steps weft train takes.
#pragma once
#include <cstdint>
#include <string>

// What there is to train on.
struct TrainingSize {
  std::int64_t size = 0;   // rows, or tokens of a text
  std::int64_t batch = 1;  // of them in a batch
  bool rows = false;
};

struct ChosenSteps {
  std::int64_t steps;
  std::string note;  // "steps: 3,750, 5 epochs of 24,000 rows"
};

// Those that go so often over all of it, a step being so many batches.
ChosenSteps steps_of_epochs(double epochs, const TrainingSize& size, std::int64_t micro_batches);

// Those that weft chooses. Few rows are to be seen often and many at least once: five epochs, but at least 1,000 steps of rows and
// 2,000 of a text, unless these were more than 100 epochs; and at most 20,000 steps, unless these were less than one epoch of
// rows. (A text may be so long that nobody would wait for one.)
ChosenSteps usual_steps(const TrainingSize& size, std::int64_t micro_batches);

// The same for a page of help.
std::string describe_usual_steps();

// "1,234,567"
std::string grouped(std::int64_t count);
