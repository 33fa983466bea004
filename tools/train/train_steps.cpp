#include "train/train_steps.h"

#include <weft/fit.h>

#include <algorithm>
#include <cmath>

#include "console/number.h"

namespace {

// The default numbers of steps. Larger: training takes more time, and the model memorizes the training rows. Smaller:
// the model has not learned enough. The table has accuracies in percent on the test set of AG News. Each is the mean of
// seeds 1 and 2. The three accuracies of a cell are those with half the default number of steps, with the default
// number, and with twice the default number:
//   rows    --layers 0, d_model 64, lr 5e-3    FNet of 1 layer, d_model 64
//    500    74.1, 74.1, 73.7                   70.6, 70.6, 74.3
//   2000    82.7, 82.9, 82.2                   81.4, 78.0, 72.2
//   8000    86.9, 86.2, 86.1                   86.8, 85.6, 84.5
// The first column is the number of rows of --data. For 8000 rows, the default is 1125 steps, which are five epochs.
// For 500 and 2000 rows, it is 1000 steps, which is UsualSteps::least.
const weft::UsualSteps of_rows, of_text = weft::UsualSteps::of_text();

// Returns the number of steps in one epoch. A batch that isn't full counts, too.
double steps_of_epoch(const TrainingSize& size, std::int64_t micro_batches) {
  const std::int64_t batches = (size.size + size.batch - 1) / size.batch;
  return static_cast<double>(batches) / static_cast<double>(micro_batches);
}

ChosenSteps chosen(double steps, const TrainingSize& size, std::int64_t micro_batches) {
  const auto whole = std::llround(std::clamp(steps, 1.0, 1e15));
  const double epochs = static_cast<double>(whole) / steps_of_epoch(size, micro_batches);
  const std::string rounded = as_text(std::round(epochs * (epochs < 1 ? 1000 : 10)) / (epochs < 1 ? 1000 : 10));
  return {whole, "steps: " + grouped(whole) + ", " + rounded + (rounded == "1" ? " epoch of " : " epochs of ") +
                     grouped(size.size) + (size.rows ? " rows" : " tokens")};
}

}  // namespace

ChosenSteps steps_of_epochs(double epochs, const TrainingSize& size, std::int64_t micro_batches) {
  return chosen(epochs * steps_of_epoch(size, micro_batches), size, micro_batches);
}

ChosenSteps usual_steps(const TrainingSize& size, std::int64_t micro_batches) {
  const double usual = (size.rows ? of_rows : of_text).of(steps_of_epoch(size, micro_batches));
  ChosenSteps steps = chosen(usual, size, micro_batches);
  steps.note += " (--steps or --epochs chooses another number)";
  return steps;
}

std::string describe_usual_steps() {
  return as_text(of_rows.epochs) + " epochs, but at least " + as_text(of_rows.least) + " steps for rows and " +
         as_text(of_text.least) + " for a text (up to " + as_text(of_rows.most_epochs) + " epochs), and at most " +
         as_text(of_rows.most) + " steps (or one epoch of rows, if that is more)";
}

std::string grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}
