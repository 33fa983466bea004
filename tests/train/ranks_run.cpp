// Tests of runs with several ranks: the files that rank 0 writes, and what ends all ranks.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "temporary_folder.h"
#include "thread_ranks.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/run_folder.h"

namespace weft::test {
namespace {

const char* const files[] = {"best/model.safetensors", "best/config.json",          "last/model.safetensors",
                             "last/config.json",       "last/training.safetensors", "run.json"};

struct ArchTask {
  std::string arch;
  Task task;
  double ema = 0;
  std::optional<Quantization> fake_quant = {};
};

// Returns the validation lines of the metrics, without values that depend on the clock.
std::vector<std::string> lines_of(const TemporaryFolder& folder, const std::string& run) {
  std::istringstream text(folder.read(run + "/metrics.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    auto json = nlohmann::json::parse(line);
    json.erase("seconds");
    json.erase("tokens_per_second");
    json.erase("data_wait");
    lines.push_back(json.dump());
  }
  return lines;
}

bool same_run(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  for (const std::string file : files)
    if (folder.read(a + "/" + file).empty() || folder.read(a + "/" + file) != folder.read(b + "/" + file)) return false;
  return lines_of(folder, a) == lines_of(folder, b) && !lines_of(folder, a).empty();
}

// Data whose loss is NaN in the k-th training batch that it computes.
class Breaks : public TextData {
 public:
  explicit Breaks(std::int64_t k)
      : TextData(small_text(), characters(small_text()), Task::causal_lm, 16, 4), left_(k) {}
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    const Tensor loss = TextData::loss(output, batch);
    return left_-- == 0 ? scale(loss, std::numeric_limits<double>::quiet_NaN()) : loss;
  }

 private:
  mutable std::int64_t left_;
};

}  // namespace

TEST_CASE("ranks: a run's folder equals that of one process, byte by byte, and only rank 0 writes it" *
          doctest::test_suite("threads")) {
  for (const ArchTask& what : {ArchTask{"gmlp", Task::causal_lm},
                               {"gmlp", Task::causal_lm, 0.9},
                               {"tnn", Task::causal_lm, 0.9, Quantization::int4},
                               {"fnet", Task::masked_lm},
                               {"fnet", Task::classifier}}) {
    const TemporaryFolder folder;
    std::vector<std::optional<Evaluation>> evaluations(3);
    const auto run = [&](Ranks* ranks, const std::string& name) {
      const SmallTask small = small_task(what.arch, what.task);
      TrainOptions train = options_of(ranks, 7, 3);
      train.ema = what.ema;
      train.fake_quant = what.fake_quant;
      Trainer trainer(*small.model, *small.data, train);
      RunOptions options;
      options.folder = folder / name;
      options.eval_every = 3;
      const RunResult result = trainer.run(options);
      evaluations[ranks == nullptr ? 0 : static_cast<std::size_t>(ranks->rank())] = result.evaluation;
      return result;
    };
    const RunResult alone = run(nullptr, "alone");
    const auto errors = on_ranks(3, [&](Ranks& ranks) { run(&ranks, ranks.rank() == 0 ? "ranks" : "none"); });
    CHECK(all_say(errors, ""));
    CHECK(errors[0] == "");
    CHECK(same_run(folder, "alone", "ranks"));
    CHECK_FALSE(std::filesystem::exists(folder / "none"));
    for (const auto& each : evaluations) {
      REQUIRE(each);
      CHECK(each->loss == alone.evaluation->loss);
      CHECK(each->predicted == alone.evaluation->predicted);
      CHECK(each->bytes == alone.evaluation->bytes);
      if (what.task != Task::classifier) continue;
      CHECK(each->confusion->counts() == alone.evaluation->confusion->counts());
      CHECK(each->metric("accuracy") == alone.evaluation->metric("accuracy"));
    }
  }
}

TEST_CASE("ranks: a folder that a rank other than rank 0 has opened isn't written" * doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 2));
    RunFolder own(folder / std::to_string(ranks.rank()));
    RunOptions options;
    options.open = &own;
    trainer.run(options);
  });
  CHECK(errors[0] + errors[1] == "");
  CHECK(std::filesystem::exists(folder / "0/last/model.safetensors"));
  CHECK_FALSE(std::filesystem::exists(folder / "1/last"));
  CHECK_FALSE(std::filesystem::exists(folder / "1/metrics.jsonl"));
}

TEST_CASE("ranks: a run resumes on another number of ranks and gives the same bytes" * doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto run = [&](Ranks* ranks, const std::string& name, std::int64_t until) {
    const SmallTask small = small_task("tnn", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(ranks, 9, 2));
    if (std::filesystem::exists(state_path(folder / name))) trainer.load_state(state_path(folder / name));
    RunOptions options;
    options.folder = folder / name;
    options.eval_every = 4;
    options.progress = [&](const Progress& p) { return p.step != until; };
    trainer.run(options);
  };
  run(nullptr, "alone", 100);
  CHECK(all_say(on_ranks(2, [&](Ranks& ranks) { run(&ranks, "ranks", 3); }), ""));
  CHECK(all_say(on_ranks(3, [&](Ranks& ranks) { run(&ranks, "ranks", 6); }), ""));  // one rank has no micro-batch
  run(nullptr, "ranks", 8);
  CHECK(all_say(on_ranks(2, [&](Ranks& ranks) { run(&ranks, "ranks", 100); }), ""));
  CHECK(same_run(folder, "alone", "ranks"));
}

TEST_CASE("ranks: a loss that is not finite on one rank stops all ranks at the same step and changes nothing" *
          doctest::test_suite("threads")) {
  for (const int broken : {0, 1}) {
    const TemporaryFolder folder;
    std::vector<std::int64_t> steps(2);
    std::vector<std::vector<float>> values(2);
    const auto errors = on_ranks(2, [&](Ranks& ranks) {
      const Breaks data(ranks.rank() == broken ? 4 : -1);
      const auto model = small_model("gmlp", Task::causal_lm, data.tokenizer()->size(), 0, {});
      Trainer trainer(*model, data, options_of(&ranks, 9));
      RunOptions options;
      options.folder = folder / "run";
      options.eval_every = 100;
      const auto rank = static_cast<std::size_t>(ranks.rank());
      try {
        trainer.run(options);
      } catch (...) {
        steps[rank] = trainer.steps_done();
        trainer.step();  // the step can be retried
        values[rank] = model->parameters()[0].second.value().to_vector<float>();
        throw;
      }
    });
    CHECK(all_say(
        errors, std::string(broken == 0 ? "" : "rank 1: ") + "[train] step 5: the loss is nan; a lower learning rate"));
    CHECK(steps[0] == 4);
    CHECK(steps[1] == 4);
    CHECK(values[0] == values[1]);
  }
}

// For example, memory runs out during a step's transfers, so a transfer can't start or fails.
TEST_CASE("ranks: a transfer that fails on one rank ends all ranks, even if they retry" *
          doctest::test_suite("threads")) {
  struct BrokenRanks : ThreadRanks {
    BrokenRanks(Meeting& meeting, std::size_t rank, int call) : ThreadRanks(meeting, rank), left(call) {}
    struct Broken : Transfer {
      explicit Broken(std::unique_ptr<Transfer> whole) : transfer(std::move(whole)) {}
      bool done() override { throw std::bad_alloc(); }
      std::unique_ptr<Transfer> transfer;
    };
    std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                        void* to) override {
      if (--left == 0) throw std::bad_alloc();
      auto transfer = ThreadRanks::to_owners(from, bytes, senders, to);
      if (left != -3) return transfer;
      left = 0;
      return std::make_unique<Broken>(std::move(transfer));
    }
    int left;
  };
  for (const int call : {1, 4, -1}) {
    Meeting meeting(3);
    std::vector<std::string> errors(3), again(3);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        BrokenRanks ranks(meeting, rank, rank == 1 ? call : 1000);
        const SmallTask small = small_task("gmlp", Task::causal_lm);
        Trainer trainer(*small.model, *small.data, options_of(&ranks, 9, 5));
        for (std::string* error : {&errors[rank], &again[rank]}) try {
            for (;;) trainer.step();
          } catch (const RankError& ended) {
            *error = ended.what();
          }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(all_say(errors, "rank 1: [train] the exchange of gradients failed: "));
    CHECK(again == errors);
  }
}

// A host's own exceptions end all ranks, too.
TEST_CASE("ranks: exceptions of a host's data in a step are reported to all") {
  struct Throws : TextData {
    Throws(std::int64_t k, bool number)
        : TextData(small_text(), characters(small_text()), Task::causal_lm, 16, 4), left(k), is_number(number) {}
    Tensor loss(const Tensor& output, const Batch& batch) const override {
      if (left-- != 0) return TextData::loss(output, batch);
      if (is_number) throw 7;
      throw std::out_of_range("a host's");
    }
    mutable std::int64_t left;
    bool is_number;
  };
  for (const bool number : {false, true}) {
    const auto errors = on_ranks(2, [&](Ranks& ranks) {
      const Throws data(ranks.rank() == 1 ? 2 : -1, number);
      const auto model = small_model("gmlp", Task::causal_lm, data.tokenizer()->size(), 0, {});
      Trainer trainer(*model, data, options_of(&ranks, 9));
      trainer.run({});
    });
    CHECK(all_say(errors, number ? "rank 1: an exception of an unknown type" : "rank 1: a host's"));
  }
}

// If a callback throws anything but a std::exception, the rank that threw it rethrows it unchanged.
TEST_CASE("ranks: a number that a host's callback throws is reported to all" * doctest::test_suite("threads")) {
  std::vector<int> own(2);
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 4));
    RunOptions options;
    options.progress = [&](const Progress& p) {
      if (ranks.rank() == 1 && p.step == 2) throw 7;
      return true;
    };
    try {
      trainer.run(options);
    } catch (const RankError& error) {
      try {
        if (error.own()) std::rethrow_exception(error.own());
      } catch (const int number) {
        own[static_cast<std::size_t>(ranks.rank())] = number;
      }
      throw;
    }
  });
  CHECK(all_say(errors, "rank 1: an exception of an unknown type"));
  CHECK(own == std::vector<int>{0, 7});
}

TEST_CASE("ranks: a request to stop on one rank stops all ranks after the same step, and everything is saved" *
          doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto run = [&](Ranks* ranks, const std::string& name, bool stops) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(ranks, 9));
    RunOptions options;
    options.folder = folder / name;
    std::int64_t step = 0;
    options.progress = [&](const Progress& p) {
      step = p.step;
      return true;
    };
    options.stop = [&] { return stops && step == 3; };
    const RunResult result = trainer.run(options);
    if (!result.stopped || trainer.steps_done() != 3) throw Error("didn't stop");
  };
  run(nullptr, "alone", true);
  CHECK(all_say(on_ranks(2, [&](Ranks& ranks) { run(&ranks, "ranks", ranks.rank() == 1); }), ""));
  CHECK(folder.read("alone/last/training.safetensors") == folder.read("ranks/last/training.safetensors"));
  CHECK(folder.read("alone/last/model.safetensors") == folder.read("ranks/last/model.safetensors"));
}

TEST_CASE("ranks: a request to stop one rank during validation stops all ranks" * doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 2));
    RunOptions options;
    options.folder = folder / "run";
    options.stop = [&] { return ranks.rank() == 1 && trainer.steps_done() == 2; };
    const RunResult result = trainer.run(options);
    if (!result.stopped || result.evaluation) throw Error("didn't stop");
  });
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

TEST_CASE("ranks: patience ends all ranks") {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    TrainOptions options = options_of(&ranks, 40);
    options.schedule.peak = 1e-12;  // nothing improves
    options.schedule.warmup = 0;
    options.optimizer = {"sgd"};
    Trainer trainer(*small.model, *small.data, options);
    RunOptions run;
    run.folder = folder / "run";
    run.eval_every = 1;
    run.patience = ranks.rank() == 0 ? 2 : 0;  // only the setting of rank 0 counts
    const RunResult result = trainer.run(run);
    throw Error(std::to_string(result.out_of_patience) + " at " + std::to_string(trainer.steps_done()));
  });
  CHECK(all_say(errors, "1 at "));
}

TEST_CASE("ranks: if rank 0 can't save, all ranks receive the error") {
  const TemporaryFolder folder;
  folder.write("file", "no folder");
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 2));
    RunOptions options;
    options.folder = folder / "file/run";
    trainer.run(options);
  });
  CHECK(all_say(errors, "file/run"));
  const auto later = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 4));
    RunOptions options;
    options.folder = folder / "run";
    options.eval_every = 2;
    options.evaluated = [&](std::int64_t step, const Evaluation&) {
      if (ranks.rank() != 0 || step != 2) return;
      std::filesystem::remove_all(folder / "run/last");
      folder.write("run/last", "no folder");
    };
    trainer.run(options);
  });
  CHECK(all_say(later, "run/last"));
}

TEST_CASE("ranks: a failed save that will be retried doesn't end any rank" * doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(&ranks, 4));
    RunOptions options;
    options.folder = folder / "run";
    options.eval_every = 2;
    if (ranks.rank() == 0) folder.write("run/best", "no folder");
    options.save_failed = [&](const Error&) {
      std::filesystem::remove(folder / "run/best");
      return true;
    };
    trainer.run(options);
  });
  CHECK(all_say(errors, ""));
  CHECK(errors[0] == "");
  CHECK(std::filesystem::exists(folder / "run/best/model.safetensors"));
}

}  // namespace weft::test
