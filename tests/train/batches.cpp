// Tests of batches that a trainer prepares on a separate thread, and of the contents of a language model's batches.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include "train_support.h"
#include "weft/context.h"
#include "weft/trainer.h"

namespace weft::test {

TEST_CASE("concurrent: batches are prepared in advance in the same order, errors are rethrown, and the thread ends" *
          doctest::test_suite("threads")) {
  class Watched : public TextData {
   public:
    using TextData::TextData;
    Batch training(std::int64_t k, const Random& random) const override {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
        numbers.push_back(k);
      }
      if (k == fails) throw Error("[data] batch " + std::to_string(k));
      return TextData::training(k, random);
    }
    std::atomic<std::int64_t> fails = -1;
    mutable std::mutex mutex;
    mutable std::set<std::thread::id> threads;
    mutable std::vector<std::int64_t> numbers;
  };
  Context context;
  context.set_threads(2);
  const ContextScope scope(context);
  const SmallTask small = small_task("gmlp", Task::causal_lm), same = small_task("gmlp", Task::causal_lm);
  Watched data(small_text(), small.data->tokenizer(), Task::causal_lm, 16, 4);
  TrainOptions options = small_options(4);
  options.micro_batches = 2;
  {
    Trainer trainer(*small.model, data, options), plain(*same.model, *same.data, options);
    for (int step = 0; step < 4; ++step) CHECK(trainer.step() == plain.step());
  }
  CHECK(data.threads.size() == 1);
  // a build without threads prepares batches on this thread
  CHECK(data.threads.count(std::this_thread::get_id()) == (context.threads() == 1));
  for (std::size_t i = 0; i < data.numbers.size(); ++i) CHECK(data.numbers[i] == static_cast<std::int64_t>(i));
  CHECK(data.numbers.size() == 8);  // none after the run's last step

  data.fails = 5;
  Trainer trainer(*small.model, data, options);
  trainer.step();
  trainer.step();
  for (int again = 0; again < 2; ++again) CHECK_THROWS_WITH(trainer.step(), "[data] batch 5");
  CHECK(trainer.steps_done() == 2);
  data.fails = -1;
  CHECK_NOTHROW(trainer.step());
  data.fails = 7;  // this batch is prepared, but never requested
}

TEST_CASE("concurrent: several loaders work in parallel, keep a limited number of steps, and don't change a bit" *
          doctest::test_suite("threads")) {
  // Batches take some time to make. With three loaders, three are made concurrently.
  class Slow : public TextData {
   public:
    using TextData::TextData;
    Batch training(std::int64_t k, const Random& random) const override {
      const int now = ++inside;
      for (int most = at_once; now > most && !at_once.compare_exchange_weak(most, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      highest = std::max<std::int64_t>(highest, k);
      Batch batch = TextData::training(k, random);
      --inside;
      return batch;
    }
    mutable std::atomic<int> inside = 0, at_once = 0;
    mutable std::atomic<std::int64_t> highest = -1;
  };
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  std::vector<std::vector<double>> losses;
  for (const std::int64_t loaders : {0, 1, 3}) {
    CAPTURE(loaders);
    const SmallTask same = small_task("gmlp", Task::causal_lm);
    const Slow data(small_text(), small.data->tokenizer(), Task::causal_lm, 16, 4);
    TrainOptions options = small_options(10);
    options.loaders = loaders;
    losses.emplace_back();
    {
      Trainer trainer(*same.model, data, options);
      for (int step = 0; step < 5; ++step) losses.back().push_back(trainer.step());
      const std::int64_t last = 4 + (loaders == 0 ? 0 : loaders + 1);
      for (int i = 0; i < 500 && data.highest < last; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(data.highest == last);
      RunOptions run;
      CHECK(trainer.run(run).data_wait < 1);
      CHECK(std::isfinite(trainer.step()));  // steps after the run's last one
    }
    CHECK(data.at_once <= std::max<std::int64_t>(loaders, 1));
    CHECK((data.at_once > 1) == (loaders > 1));
    CHECK(losses.back() == losses.front());
  }
}

TEST_CASE("the share of time that a run waited for batches") {
  class Slow : public TextData {
   public:
    using TextData::TextData;
    Batch training(std::int64_t k, const Random& random) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(k < 2 ? 300 : 0));
      return TextData::training(k, random);
    }
  };
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const Slow data(small_text(), small.data->tokenizer(), Task::causal_lm, 16, 4);
  TrainOptions options = small_options(8);
  options.loaders = 0;
  Trainer trainer(*small.model, data, options);
  RunOptions run;
  std::vector<double> shares;
  run.progress = [&](const Progress& p) {
    shares.push_back(p.data_wait);
    return true;
  };
  const RunResult result = trainer.run(run);
  CHECK(result.data_wait * result.seconds >= 0.6);
  CHECK(result.data_wait <= 1);
  CHECK(shares.back() == result.data_wait);
  CHECK(shares[1] > shares.back());
  options.loaders = 65;
  CHECK_THROWS_WITH_AS(Trainer(*small.model, data, options), doctest::Contains("0 to 64 loaders, got 65"), Error);
}

TEST_CASE("perplexity and bits per byte") {
  Evaluation evaluation;
  evaluation.loss = std::log(8.0);
  evaluation.predicted = 10;
  CHECK_FALSE(evaluation.bits_per_byte());
  CHECK(evaluation.perplexity() == doctest::Approx(8));
  evaluation.bytes = 15;
  CHECK(*evaluation.bits_per_byte() == doctest::Approx(3 * 10 / 15.0));

  // The number of bytes of each predicted symbol. An unknown symbol has none.
  const auto tokenizer = characters("aé€ \n");
  const std::string text = "aaaaaaaaaaaaaaaaaa€é xa\n";
  const TextData causal(text, tokenizer, Task::causal_lm, 2, 1, TextSplit{0, 100});
  std::int64_t bytes = 0;
  for (std::int64_t k = 0; k < causal.validation_batches(); ++k) bytes += causal.validation(k).bytes;
  CHECK(bytes == 17 + 3 + 2 + 1 + 0 + 1 + 1);
  const auto model = small_model("gmlp", Task::causal_lm, tokenizer->size(), 0, {});
  CHECK(evaluate(*model, causal).bytes == bytes);
  const TextData by_words("one two  three four", words({"one two three"}), Task::causal_lm, 1, 1, TextSplit{0, 100});
  CHECK(by_words.validation(0).bytes == 4);  // including the space before it
  CHECK(by_words.validation(1).bytes == 6);
  CHECK(by_words.validation(2).bytes == 0);
  const SmallTask masked = small_task("fnet", Task::masked_lm), classifier = small_task("fnet", Task::classifier);
  const Batch batch = masked.data->validation(0);
  std::int64_t predicted = 0;
  for (const std::int64_t id : batch.target.to_vector<std::int64_t>())
    if (id != -100) predicted += static_cast<std::int64_t>(masked.data->tokenizer()->decode(id).size());
  CHECK(batch.bytes == predicted);
  CHECK(evaluate(*masked.model, *masked.data).bytes > 0);
  CHECK(evaluate(*classifier.model, *classifier.data).bytes == 0);
}

TEST_CASE("masked language models: a symbol is never replaced by a special symbol") {
  for (const char* kind : {"characters", "words", "bytes"}) {
    CAPTURE(kind);
    TokenizerOptions options;
    options.task = Task::masked_lm;
    const auto tokenizer = learn_tokenizer(kind, small_text(), options);
    const SpecialIds special = tokenizer->special();
    const TextData data(small_text(), tokenizer, Task::masked_lm, 40, 4);
    std::int64_t masked = 0;
    for (std::int64_t k = 0; k < 50; ++k)
      for (const std::int64_t id : data.training(k, Random(1)).tokens.to_vector<std::int64_t>()) {
        CHECK((id != special.unknown && id != special.pad && id != special.cls));
        masked += id == special.mask;
      }
    CHECK(masked > 0);
  }
}

TEST_CASE("language models: a tokenizer with only special symbols is refused") {
  for (const Task task : {Task::causal_lm, Task::masked_lm}) {
    TokenizerOptions options;
    options.task = task;
    options.min_count = 1000000;  // no word is that frequent
    const auto tokenizer = learn_tokenizer("words", small_text(), options);
    CHECK_THROWS_WITH(TextData(small_text(), tokenizer, task, 16, 4),
                      doctest::Contains("words, has only special symbols"));
  }
}

}  // namespace weft::test
