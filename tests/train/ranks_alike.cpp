// Tests what ranks check about each other: settings, data and parameters.
#include <doctest/doctest.h>

#include <filesystem>

#include "temporary_folder.h"
#include "thread_ranks.h"
#include "train_support.h"
#include "weft/context.h"

namespace weft::test {
namespace {

// Data whose counts can't be combined.
class Undivided : public TextData {
 public:
  using TextData::TextData;
  struct Count : Meter {
    void add(const Tensor&, const Batch& batch) override { predicted += batch.predicted; }
    std::vector<Metric> metrics() const override {
      if (predicted == 0) throw Error("nothing was measured");
      return {{"predicted", static_cast<double>(predicted)}};
    }
    std::int64_t predicted = 0;
  };
  std::unique_ptr<Meter> meter() const override { return std::make_unique<Count>(); }
};

}  // namespace

TEST_CASE(
    "ranks: different settings, data or parameters are detected before the first step, and the error names them") {
  struct Difference {
    const char* name;
    std::function<void(TrainOptions&)> change;
    const char* message;
  };
  const Difference differences[] = {
      {"seed", [](TrainOptions& o) { o.seed = 2; }, "rank 1 and rank 0 differ in the seed: 2 and 1"},
      {"clip", [](TrainOptions& o) { o.optimizer.clip = 3; }, "rank 1 and rank 0 differ in the clip: 3.0 and 1.0"},
      {"micro-batches", [](TrainOptions& o) { o.micro_batches = 4; },
       "rank 1 and rank 0 differ in the micro-batches: 4 and 2"},
      {"number of steps", [](TrainOptions& o) { o.schedule.steps = 5; },
       "rank 1 and rank 0 differ in the number of steps: 5 and 4"},
      {"d_model of the schedule", [](TrainOptions& o) { o.schedule.d_model = 8; },
       "rank 1 and rank 0 differ in the d_model of the schedule: 8 and 1"},
      {"optimizer", [](TrainOptions& o) { o.optimizer = {"sgd"}; },
       "rank 1 and rank 0 differ in the optimizer: \"sgd\" and \"adamw\""},
  };
  for (const Difference& difference : differences) {
    CAPTURE(difference.name);
    CHECK(all_say(on_ranks(2,
                           [&](Ranks& ranks) {
                             const SmallTask small = small_task("gmlp", Task::causal_lm);
                             TrainOptions options = options_of(&ranks, 4);
                             if (ranks.rank() == 1) difference.change(options);
                             Trainer(*small.model, *small.data, options);
                           }),
                  difference.message));
  }
  CHECK(all_say(on_ranks(3,
                         [&](Ranks& ranks) {
                           const std::string text = small_text() + (ranks.rank() == 2 ? "l" : "");
                           const TextData data(text, characters(small_text()), Task::causal_lm, 16, 4);
                           const auto model = small_model("gmlp", Task::causal_lm, data.tokenizer()->size(), 0, {});
                           Trainer(*model, data, options_of(&ranks, 4));
                         }),
                "rank 2 and rank 0 differ in the data"));
  CHECK(all_say(on_ranks(2,
                         [&](Ranks& ranks) {
                           const SmallTask small = small_task("gmlp", Task::causal_lm);
                           if (ranks.rank() == 1) {
                             const Isa own = Context::current().isa(), first = available_isas().front();
                             Context::current().set_isa(own == first ? available_isas().back() : first);
                           }
                           Trainer(*small.model, *small.data, options_of(&ranks, 4));
                         }),
                available_isas().size() > 1 ? "rank 1 and rank 0 differ in the instruction set: " : ""));
  CHECK(all_say(on_ranks(2,
                         [&](Ranks& ranks) {
                           const SmallTask small = small_task("gmlp", Task::causal_lm);
                           Parameter first = small.model->parameters()[0].second;
                           if (ranks.rank() == 1) first.assign(scale(first.value(), 2));
                           Trainer(*small.model, *small.data, options_of(&ranks, 4));
                         }),
                "rank 1 and rank 0 differ in the parameters"));
}

TEST_CASE("ranks: an error in one rank's options, task or length is reported to all ranks") {
  const auto made = [](const std::function<void(Ranks&)>& make) { return on_ranks(2, make); };
  const auto with = [&](const std::function<void(TrainOptions&)>& change) {
    return made([&](Ranks& ranks) {
      const SmallTask small = small_task("gmlp", Task::causal_lm);
      TrainOptions options = options_of(&ranks, 4);
      if (ranks.rank() == 1) change(options);
      Trainer(*small.model, *small.data, options);
    });
  };
  CHECK(all_say(with([](TrainOptions& o) { o.schedule.steps = 0; }), "rank 1: [train] expected steps"));
  CHECK(all_say(with([](TrainOptions& o) { o.optimizer.name = "none"; }), "rank 1: "));
  CHECK(all_say(with([](TrainOptions& o) { o.optimizer.clip = -1; }), "rank 1: "));
  CHECK(all_say(made([](Ranks& ranks) {
                  const SmallTask small = small_task("fnet", ranks.rank() == 1 ? Task::classifier : Task::masked_lm);
                  const SmallTask other = small_task("fnet", Task::masked_lm);
                  Trainer(*small.model, *other.data, options_of(&ranks, 4));
                }),
                "rank 1: [train] the model has the task classifier"));
  CHECK(all_say(made([](Ranks& ranks) {
                  const SmallTask small = small_task("gmlp", Task::causal_lm);
                  const TextData longer(small_text(), small.data->tokenizer(), Task::causal_lm,
                                        ranks.rank() == 1 ? 17 : 16, 4);
                  Trainer(*small.model, longer, options_of(&ranks, 4));
                }),
                "rank 1: [train] expected sequences of at most"));
}

TEST_CASE("ranks: a different validation interval is detected before the first step") {
  CHECK(all_say(on_ranks(2,
                         [&](Ranks& ranks) {
                           const SmallTask small = small_task("gmlp", Task::causal_lm);
                           Trainer trainer(*small.model, *small.data, options_of(&ranks, 4));
                           RunOptions options;
                           options.eval_every = ranks.rank() == 1 ? 2 : 3;
                           trainer.run(options);
                         }),
                "rank 1 and rank 0 differ in the eval-every: 2 and 3"));
}

TEST_CASE("ranks: parameters that become different are detected before they are saved") {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 4));
    RunOptions options;
    options.folder = folder / "run";
    options.progress = [&](const Progress&) {
      Parameter first = small.model->parameters()[0].second;
      if (ranks.rank() == 1) first.assign(scale(first.value(), 1.5));
      return true;
    };
    trainer.run(options);
  });
  CHECK(all_say(errors, "rank 1 and rank 0 differ in the parameters"));
  CHECK_FALSE(std::filesystem::exists(folder / "run/last"));
}

TEST_CASE("ranks: a meter that can't be divided measures only on rank 0, with the same loss" *
          doctest::test_suite("threads")) {
  const Undivided data(small_text(), characters(small_text()), Task::causal_lm, 16, 4);
  const auto model = small_model("gmlp", Task::causal_lm, data.tokenizer()->size(), 0, {});
  const Evaluation alone = evaluate(*model, data);
  std::vector<Evaluation> all(2);
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const auto own = small_model("gmlp", Task::causal_lm, data.tokenizer()->size(), 0, {});
    TrainOptions options = options_of(&ranks, 1);
    options.schedule.peak = 1e-300;  // so that the parameters don't change
    Trainer trainer(*own, data, options);
    all[static_cast<std::size_t>(ranks.rank())] = *trainer.run({}).evaluation;
  });
  CHECK(errors[0] + errors[1] == "");
  for (const Evaluation& each : all) CHECK(each.loss == alone.loss);
  CHECK(all[0].metric("predicted") == alone.metric("predicted"));
  CHECK(all[1].metrics.empty());
}

TEST_CASE("ranks: an error of a rank reaches all ranks that gather, and the first of several errors counts" *
          doctest::test_suite("threads")) {
  for (const int failing : {1, 2}) {
    const auto errors = on_ranks(3, [&](Ranks& ranks) {
      if (ranks.rank() >= failing) with_ranks(&ranks, [&] { throw Error("no " + std::to_string(ranks.rank())); });
      const auto texts = ranks.gather("x");
      throw Error("gathered");
    });
    CHECK(all_say(errors, "rank " + std::to_string(failing) + ": no " + std::to_string(failing)));
  }
  const auto errors = on_ranks(3, [&](Ranks& ranks) {
    const auto texts = ranks.gather(std::string("\0-", 2) + std::to_string(ranks.rank()));
    if (texts != std::vector<std::string>{{"\0-0", 3}, {"\0-1", 3}, {"\0-2", 3}}) throw Error("other texts");
  });
  CHECK(errors[0] + errors[1] + errors[2] == "");
}

TEST_CASE("ranks: facts are compared by name, for any number and order, and long facts by a hash") {
  using Facts = std::vector<std::pair<std::string, std::string>>;
  const auto compared = [](const Facts& first, const Facts& second) {
    return on_ranks(2, [&](Ranks& ranks) {
      check_alike(ranks, ranks.rank() == 0 ? first : second);
      ranks.gather("");  // then no rank is still in check_alike
    });
  };
  const std::string text(100000, 'x');
  CHECK(all_say(compared({{"a", "1"}, {"b", ""}, {"c", text}}, {{"c", text}, {"b", ""}, {"a", "1"}}), ""));
  CHECK(compared({{"a", "1"}, {"b", text}}, {{"b", text}, {"a", "1"}})[0] == "");
  CHECK(all_say(compared({{"a", "1"}, {"b", "2"}, {"d", "4"}}, {{"c", "3"}, {"d", "5"}}),
                "[ranks] rank 1 and rank 0 differ in the d: 5 and 4"));
  CHECK(all_say(compared({{"d", "4"}}, {{"c", "3"}, {"d", "4"}}),
                "[ranks] rank 1 and rank 0 differ in the c: 3 and none"));
  CHECK(all_say(compared({{"d", "4"}, {"b", "2"}}, {{"d", "4"}}),
                "[ranks] rank 1 and rank 0 differ in the b: none and 2"));
  for (const std::string& error : compared({{"d", text}}, {{"d", text + "y"}}))
    CHECK(error == "[ranks] rank 1 and rank 0 differ in the d");
  const std::string zero(1, '\0');  // ends each name and value in a message
  CHECK(compared({{"a", "x" + zero + "y"}, {"b", "1"}}, {{"b", "1"}, {"a", "x" + zero + "y"}})[0] == "");
  for (const std::string& error : compared({{"a", "x" + zero + "y"}}, {{"a", "x" + zero + "z"}}))
    CHECK(error == "[ranks] rank 1 and rank 0 differ in the a");
}

// The message contains only a short text for a fact of any length.
TEST_CASE("ranks: facts need one gather of a short text") {
  struct Counts : ThreadRanks {
    using ThreadRanks::ThreadRanks;
    std::vector<std::string> exchange(const std::string& text) override {
      bytes += text.size();
      ++gathers;
      return ThreadRanks::exchange(text);
    }
    std::size_t bytes = 0;
    int gathers = 0;
  };
  Meeting meeting(1);
  Counts ranks(meeting, 0);
  check_alike(ranks, {{"a", std::string(100000, 'x')}, {"b", "2"}});
  CHECK(ranks.gathers == 1);
  CHECK(ranks.bytes < 100);
}

}  // namespace weft::test
