// Compares several ranks with one process that has as many micro-batches. They must give the same bits.
#include <doctest/doctest.h>

#include <functional>
#include "weft/trainer.h"  // says which classes are hidden

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "sweep.h"
#include "thread_ranks.h"
#include "train/gradient_exchange.h"
#include "train_support.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

struct Outcome {
  Doubles losses;
  Floats values;
  bool operator==(const Outcome& other) const { return losses == other.losses && values == other.values; }
};

struct TrainedOnRanks {
  std::string arch;
  Task task;
  std::int64_t batches = 1;
  double clip = 0.05;  // less than the gradient's norm
  std::string optimizer = "sgd";
  int steps = 3;
};

// Runs a few steps. `ranks` is null for one process.
Outcome train(const TrainedOnRanks& what, Ranks* ranks) {
  const SmallTask small = small_task(what.arch, what.task);
  TrainOptions options = small_options(10);
  options.micro_batches = what.batches;
  options.optimizer.name = what.optimizer;
  options.optimizer.clip = what.clip;
  options.ranks = ranks;
  Trainer trainer(*small.model, *small.data, options);
  Outcome outcome;
  for (int step = 0; step < what.steps; ++step) outcome.losses.push_back(trainer.step());
  outcome.values = floats_of(*small.model);
  return outcome;
}

// Batch k predicts a half, a third or a quarter of its symbols.
class UnevenBatches : public TextData {
 public:
  UnevenBatches() : TextData(small_text(), characters(small_text()), Task::causal_lm, 16, 4) {}
  Batch training(std::int64_t k, const Random& random) const override {
    Batch batch = TextData::training(k, random);
    auto target = batch.target.to_vector<std::int64_t>();
    batch.predicted = 0;
    for (std::size_t i = 0; i < target.size(); ++i)
      if (i % static_cast<std::size_t>(k % 3 + 2) != 0) target[i] = -100;
      else ++batch.predicted;
    batch.target = Tensor::from(target, batch.target.shape());
    return batch;
  }
};

// Returns the outcome on each of the ranks.
std::vector<Outcome> train_on(std::size_t size, const TrainedOnRanks& what) {
  std::vector<Outcome> outcomes(size);
  const auto errors = on_ranks(size, [&](Ranks& ranks) {
    Context::current().set_threads(1);
    outcomes[static_cast<std::size_t>(ranks.rank())] = train(what, &ranks);
  });
  for (const std::string& error : errors) CHECK(error == "");
  return outcomes;
}

void check_same(std::size_t size, const TrainedOnRanks& what) {
  CAPTURE(size);
  CAPTURE(what.batches);
  const Outcome alone = train(what, nullptr);
  for (const Outcome& one : train_on(size, what)) CHECK(one == alone);
}

// Compares several ranks with run(null), which trains in one process.
void check_like_one_process(const std::function<Outcome(Ranks*)>& run) {
  const Outcome alone = run(nullptr);
  for (const std::size_t size : {2, 3}) {
    std::vector<Outcome> outcomes(size);
    const auto errors =
        on_ranks(size, [&](Ranks& ranks) { outcomes[static_cast<std::size_t>(ranks.rank())] = run(&ranks); });
    for (std::size_t rank = 0; rank < size; ++rank) {
      CHECK(errors[rank] == "");
      CHECK(outcomes[rank] == alone);
    }
  }
}

}  // namespace

TEST_CASE("ranks: every architecture and task, dropout and clipping give the bits of one process") {
  for (const std::string& arch : own_architectures)
    for (const Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      check_same(2, {arch, task, 2});
      check_same(3, {arch, task, 3});
    }
}

TEST_CASE("ranks: any number of micro-batches on any number of ranks") {
  for (const std::size_t size : {1, 2, 3, 4})
    for (const std::int64_t batches : {1, 5, 2, 6}) {
      if (batches == sweep(0, 2)) break;
      check_same(size, {"gmlp", Task::causal_lm, batches});
    }
}

TEST_CASE("ranks: with every optimizer, and without clipping") {
  for (const char* optimizer : {"adamw", "adam", "sgd", "lion"})
    for (const double clip : {0.0, 0.05}) check_same(2, {"tnn", Task::causal_lm, 2, clip, optimizer, 5});
}

TEST_CASE("ranks: buckets of a larger model are sent while backward runs") {
  // Several megabytes of parameters give many buckets. Some matrices are in several buckets, and there are more buckets
  // than may be in progress concurrently.
  const std::string text = small_text();
  const TextData data(text, characters(text), Task::causal_lm, 16, 2);
  const auto run = [&](Ranks* ranks) {
    const auto model = make_model({"gmlp", Task::causal_lm, data.tokenizer()->size(), 0,
                                   R"({"layers":3,"dropout":0.1,"d_model":192,"seq_len":16})"},
                                  {Random(3), DType::f32});
    TrainOptions options = small_options(10);
    options.micro_batches = 5;
    options.optimizer = {"sgd"};
    options.ranks = ranks;
    Trainer trainer(*model, data, options);
    Outcome outcome;
    for (int step = 0; step < 2; ++step) outcome.losses.push_back(trainer.step());
    outcome.values = floats_of(*model);
    return outcome;
  };
  check_like_one_process(run);
}

TEST_CASE("ranks: micro-batches that predict more symbols have more weight, on any rank" *
          doctest::test_suite("threads")) {
  const UnevenBatches data;
  const auto run = [&](Ranks* ranks) {
    const auto model = small_model("tnn", Task::causal_lm, data.tokenizer()->size(), 0, {});
    TrainOptions options = small_options(10);
    options.micro_batches = 5;
    options.label_smoothing = 0.1;
    options.optimizer = {"sgd"};
    options.ranks = ranks;
    Trainer trainer(*model, data, options);
    Outcome outcome;
    for (int step = 0; step < 3; ++step) outcome.losses.push_back(trainer.step());
    outcome.values = floats_of(*model);
    return outcome;
  };
  check_like_one_process(run);
}

TEST_CASE("ranks: buckets and their pieces cover the gradient, each element once") {
  for (const auto& [d_model, layers] : {std::pair{8, 1}, {64, 2}, {256, 4}})
    for (const int ranks : {1, 2, 3, 7}) {
      const std::string config =
          R"({"d_model":)" + std::to_string(d_model) + R"(,"seq_len":16,"layers":)" + std::to_string(layers) + "}";
      const auto model = make_model({"gmlp", Task::causal_lm, 40, 0, config}, {Random(3), DType::f32});
      ParameterSet set(model->parameters());
      std::vector<int> covered(static_cast<std::size_t>(set.values().numel()));
      for (int rank = 0; rank < ranks; ++rank)
        for (const detail::GradientBucket& bucket : detail::gradient_buckets(set, DType::f32, ranks, rank)) {
          CHECK(bucket.bytes[static_cast<std::size_t>(rank)] == static_cast<std::size_t>(bucket.own) * sizeof(float));
          std::size_t bytes = 0;
          for (std::size_t owner = 0; owner < bucket.bytes.size(); ++owner) {
            if (owner == static_cast<std::size_t>(rank))
              CHECK(bytes == static_cast<std::size_t>(bucket.own_begin - bucket.begin) * sizeof(float));
            bytes += bucket.bytes[owner];
          }
          CHECK(bytes == static_cast<std::size_t>(bucket.end - bucket.begin) * sizeof(float));
          for (std::int64_t i = 0; i < bucket.own; ++i) ++covered[static_cast<std::size_t>(bucket.own_begin + i)];
        }
      CHECK(std::count(covered.begin(), covered.end(), 1) == std::ssize(covered));
    }
}

TEST_CASE("ranks: traffic of a rank is less than twice the gradient's size, for any number of ranks") {
  for (const std::size_t size : {2, 3, 5}) {
    const auto errors = on_ranks(size, [&](Ranks& ranks) {
      const SmallTask small = small_task("gmlp", Task::causal_lm, {128, 16, 1});
      TrainOptions options = small_options(2);
      options.micro_batches = ranks.size();
      options.ranks = &ranks;
      Trainer trainer(*small.model, *small.data, options);
      const RunResult result = trainer.run({});
      const auto gradient = static_cast<double>(parameter_count(small.model->parameters())) * sizeof(float);
      const double part = static_cast<double>(result.bytes_sent) / 2 / gradient, n = ranks.size();
      if (!(part > 1.9 * (n - 1) / n && part < 2)) throw Error("sent " + std::to_string(part));
    });
    for (const std::string& error : errors) CHECK(error == "");
  }
}

namespace {

// A single rank whose transfers end only after several polls. Until then, a transfer owns the memory that it fills.
class SlowRank : public Ranks {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  [[noreturn]] void abort(const std::string& reason) override { throw RankError(reason); }
  std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int, void* to) override {
    shared += places_.count(to) != 0;
    places_.insert(to);
    most = std::max(most, places_.size());
    std::memcpy(to, from, bytes[0]);
    return std::make_unique<Slow>(places_, to);
  }
  std::unique_ptr<Transfer> from_owners(void* data, const std::vector<std::size_t>&) override {
    return std::make_unique<Slow>(places_, data);
  }
  int shared = 0;        // transfers into memory of another transfer in progress
  std::size_t most = 0;  // concurrent transfers to owners

 private:
  struct Slow : Transfer {
    Slow(std::multiset<const void*>& all, const void* its) : places(all), place(its) {}
    bool done() override {
      if (--looks > 0) return false;
      if (const auto found = places.find(place); found != places.end()) places.erase(found);
      return true;
    }
    std::multiset<const void*>& places;
    const void* place;
    int looks = 20;
  };
  std::multiset<const void*> places_;
};

}  // namespace

TEST_CASE("ranks: a transfer to an owner has its own memory until it is added") {
  const Parameter parameter(Tensor::zeros({1000000}));
  ParameterSet set({{"p", parameter}});
  SlowRank rank;
  detail::GradientExchange exchange(rank, set, DType::f32, 1);
  exchange.next_round({1, true, true});
  exchange.begin({});
  for (std::int64_t i = 0; i < 1000000; ++i) set.gradients().mutable_data<float>()[i] = static_cast<float>(i);
  exchange.end_round();
  exchange.finish();
  CHECK(rank.shared == 0);
  CHECK(rank.most > 1);
  int wrong = 0;
  for (std::int64_t i = 0; i < 1000000; ++i) wrong += set.gradients().data<float>()[i] != static_cast<float>(i);
  CHECK(wrong == 0);
}

TEST_CASE("ranks: counted bytes are those given to other ranks, also by ranks without a batch") {
  struct Counts : ThreadRanks {
    using ThreadRanks::ThreadRanks;
    std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                        void* to) override {
      if (rank() < senders) sent += std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) - own(bytes);
      return ThreadRanks::to_owners(from, bytes, senders, to);
    }
    std::unique_ptr<Transfer> from_owners(void* data, const std::vector<std::size_t>& bytes) override {
      sent += own(bytes) * (bytes.size() - 1);
      return ThreadRanks::from_owners(data, bytes);
    }
    std::size_t own(const std::vector<std::size_t>& bytes) const { return bytes[static_cast<std::size_t>(rank())]; }
    std::size_t sent = 0;
  };
  for (const std::int64_t batches : {1, 2, 4}) {
    CAPTURE(batches);
    Meeting meeting(3);
    std::vector<std::size_t> counted(3), sent(3);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        Counts ranks(meeting, rank);
        const SmallTask small = small_task("gmlp", Task::causal_lm);
        Trainer trainer(*small.model, *small.data, options_of(&ranks, 2, batches));
        counted[rank] = trainer.run({}).bytes_sent;
        sent[rank] = ranks.sent;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(counted == sent);
    CHECK(std::count(sent.begin(), sent.end(), 0) == 0);
  }
}

}  // namespace weft::test
