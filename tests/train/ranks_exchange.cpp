// Tests of gradients that ranks send to each other in bf16 (TrainOptions::exchange).
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "temporary_folder.h"
#include "thread_ranks.h"
#include "train/gradient_exchange.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

// The parameters and losses of a rank after some steps.
struct Learned {
  std::vector<double> losses;
  std::vector<float> values;
  std::uint64_t sent = 0;
  bool operator==(const Learned& other) const { return losses == other.losses && values == other.values; }
};

struct Exchanged {
  std::size_t ranks = 2;
  std::int64_t batches = 2;
  Precision exchange = Precision::bf16;
  int threads = 1;
};

std::vector<Learned> learned(const Exchanged& what) {
  std::vector<Learned> all(what.ranks);
  const auto errors = on_ranks(what.ranks, [&](Ranks& ranks) {
    Context::current().set_threads(what.threads);
    const SmallTask small = small_task("gmlp", Task::causal_lm, {64, 16, 1});
    TrainOptions options = small_options(6, what.batches);
    options.exchange = what.exchange;
    options.ranks = &ranks;
    Trainer trainer(*small.model, *small.data, options);
    Learned& own = all[static_cast<std::size_t>(ranks.rank())];
    RunOptions run;
    run.progress = [&](const Progress& progress) {
      own.losses.push_back(progress.loss);
      return true;
    };
    own.sent = trainer.run(run).bytes_sent;
    own.values = floats_of(*small.model);
  });
  for (const std::string& error : errors) CHECK(error == "");
  return all;
}

double largest_difference(const Learned& a, const Learned& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i])));
  return largest;
}

enum class Broken { nothing, loss, gradient };

// Data whose first training batch has a loss of NaN, or a gradient of NaN: the derivative of sqrt at 0, times 0.
class BreaksFirst : public TextData {
 public:
  explicit BreaksFirst(Broken what)
      : TextData(small_text(), characters(small_text()), Task::causal_lm, 16, 4), what_(what) {}
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    const Tensor loss = TextData::loss(output, batch);
    switch (std::exchange(what_, Broken::nothing)) {
      case Broken::nothing: return loss;
      case Broken::loss: return scale(loss, std::nan(""));
      case Broken::gradient: return add(loss, sqrt(sum(mul(output, scale(output, 0)))));
    }
    return loss;
  }

 private:
  mutable Broken what_;
};

// The parameters after three steps on two ranks, each of whose first steps may fail and is then repeated.
std::vector<std::vector<float>> repeated(Broken on_first, Broken on_second) {
  std::vector<std::vector<float>> values(2);
  const bool fails = on_first != Broken::nothing || on_second != Broken::nothing;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const BreaksFirst data(ranks.rank() == 0 ? on_first : on_second);
    const std::string config = R"({"d_model":8,"layers":1,"seq_len":16})";
    const auto model = make_model({"gmlp", Task::causal_lm, data.tokenizer()->size(), 0, config}, {Random(3)});
    TrainOptions options = small_options(4, 2);
    options.exchange = Precision::bf16;
    options.ranks = &ranks;
    Trainer trainer(*model, data, options);
    if (fails) CHECK(error_of([&] { trainer.step(); }) != "");
    for (int step = 0; step < 3; ++step) CHECK(std::isfinite(trainer.step()));
    values[static_cast<std::size_t>(ranks.rank())] = floats_of(*model);
  });
  for (const std::string& error : errors) CHECK(error == "");
  return values;
}

}  // namespace

TEST_CASE("rounded gradients: nothing is lost, only late") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    detail::GradientRounding rounding(5, dtype);
    const std::vector<double> values = {1.001, -3.3e-3, 257, 0, -1e-30};
    std::vector<double> sent(values.size());
    for (int step = 1; step <= 40; ++step) {
      Tensor rounded = Tensor::zeros({2}, DType::bf16);
      for (const std::int64_t begin : {0, 2}) {  // two parts of the gradient
        const std::vector<double> part(values.begin() + begin, values.begin() + begin + (begin == 0 ? 2 : 3));
        rounded = Tensor::zeros({std::ssize(part)}, DType::bf16);
        rounding.round(raw::convert(Tensor::from(part, {std::ssize(part)}), dtype), begin, rounded);
        const auto floats = raw::convert(rounded, DType::f64).to_vector<double>();
        for (std::size_t i = 0; i < floats.size(); ++i) sent[static_cast<std::size_t>(begin) + i] += floats[i];
      }
      // The sum of everything that was sent lacks at most the last rounding: half a unit of 8 significant bits.
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(std::abs(sent[i] - step * values[i]) <= std::abs(values[i]) / 128);
    }
  }
}

TEST_CASE("rounded gradients: what was taken away can be forgotten") {
  detail::GradientRounding rounding(1, DType::f32);
  const Tensor value = Tensor::from(std::vector<float>{1 + 1.0f / 256 + 1.0f / 512}, {1});  // bf16 has 1/128
  const auto next = [&] {
    Tensor rounded = Tensor::zeros({1}, DType::bf16);
    rounding.round(value, 0, rounded);
    return raw::convert(rounded, DType::f32).item();
  };
  const double first = next();
  CHECK(next() != first);
  rounding.forget();
  CHECK(next() == first);
}

TEST_CASE("ranks in bf16: a rank without a batch in a round keeps what it has not sent yet" *
          doctest::test_suite("threads")) {
  const auto errors = on_ranks(2, [](Ranks& ranks) {
    const Parameter parameter(Tensor::zeros({100}));
    ParameterSet set({{"p", parameter}});
    detail::GradientExchange exchange(ranks, set, DType::bf16, 1);
    double sum = 0;
    constexpr int steps = 200;
    for (int step = 0; step < steps; ++step) {
      const int senders = 1 + step % 2;
      exchange.next_round({senders, true, true});
      exchange.begin({});
      Tensor gradients = set.gradients();
      if (ranks.rank() < senders) raw::fill(gradients, 1.001);
      exchange.end_round();
      exchange.finish();
      sum += set.gradients().data<float>()[99];
    }
    if (!(std::abs(sum - 1.5 * steps * 1.001) < 0.05)) throw Error("the sum is " + std::to_string(sum));
  });
  for (const std::string& error : errors) CHECK(error == "");
}

TEST_CASE("ranks in bf16: all ranks have the same parameters, close to those of the exact exchange") {
  for (const std::size_t ranks : {1, 2, 3})
    for (const std::int64_t batches : {1, 2, 5}) {
      CAPTURE(ranks);
      CAPTURE(batches);
      const std::vector<Learned> all = learned({ranks, batches});
      const Learned exact = learned({ranks, batches, Precision::f32}).front();
      for (const Learned& one : all) CHECK(one == all.front());
      CHECK(largest_difference(all.front(), exact) > 0);
      CHECK(largest_difference(all.front(), exact) < 5e-3);
      for (std::size_t i = 0; i < exact.losses.size(); ++i)
        CHECK(all.front().losses[i] == doctest::Approx(exact.losses[i]).epsilon(1e-3));
    }
}

TEST_CASE("ranks in bf16: half the bytes, and the same bits each time and with any number of threads" *
          doctest::test_suite("threads")) {
  const std::vector<Learned> all = learned({3, 4}), exact = learned({3, 4, Precision::f32});
  for (std::size_t rank = 0; rank < 3; ++rank)  // pieces end at other elements than in f32
    CHECK(static_cast<double>(all[rank].sent) ==
          doctest::Approx(static_cast<double>(exact[rank].sent) / 2).epsilon(0.02));
  CHECK(learned({3, 4}).front() == all.front());
  CHECK(learned({3, 4, Precision::bf16, 2}).front() == all.front());
}

TEST_CASE("ranks in bf16: a run that resumes from a save gives the bits of one that went on" *
          doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::int64_t stop_after, bool resume) {
    std::vector<std::vector<float>> values(2);
    const auto errors = on_ranks(2, [&](Ranks& ranks) {
      const SmallTask small = small_task("tnn", Task::causal_lm);
      TrainOptions options = small_options(8, 2);
      options.exchange = Precision::bf16;
      options.ranks = &ranks;
      Trainer trainer(*small.model, *small.data, options);
      if (resume) trainer.load_state(folder / (name + "/last/training.safetensors"));
      RunOptions run_options;
      run_options.eval_every = 4;
      run_options.folder = folder / name;
      run_options.progress = [&](const Progress& progress) { return progress.step != stop_after; };
      trainer.run(run_options);
      values[static_cast<std::size_t>(ranks.rank())] = floats_of(*small.model);
    });
    for (const std::string& error : errors) CHECK(error == "");
    CHECK(values[0] == values[1]);
    return values[0];
  };
  const std::vector<float> whole = run("whole", 0, false);
  CHECK(run("stopped", 4, false) != whole);
  CHECK(run("stopped", 0, true) == whole);
}

TEST_CASE("ranks in bf16: a step that fails on any rank leaves nothing behind") {
  const auto undisturbed = repeated(Broken::nothing, Broken::nothing);
  CHECK(repeated(Broken::gradient, Broken::nothing) == undisturbed);
  CHECK(repeated(Broken::nothing, Broken::loss) == undisturbed);
  CHECK(repeated(Broken::gradient, Broken::loss) == undisturbed);
}

TEST_CASE("ranks in bf16: after loading a state, a trainer continues like a new one") {
  const TemporaryFolder folder;
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    TrainOptions options = small_options(8, 2);
    options.exchange = Precision::bf16;
    options.ranks = &ranks;
    Trainer trainer(*small.model, *small.data, options);
    if (ranks.rank() == 0) trainer.save_state(folder / "state");
    ranks.gather("");
    const auto after_three = [&] {
      for (int step = 0; step < 3; ++step) trainer.step();
      return floats_of(*small.model);
    };
    const std::vector<float> first = after_three();
    trainer.load_state(folder / "state");
    if (after_three() != first) throw Error("other parameters");
  });
  for (const std::string& error : errors) CHECK(error == "");
}

TEST_CASE("ranks: an exchange that differs between ranks is refused") {
  const auto errors = on_ranks(2, [&](Ranks& ranks) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    TrainOptions options = small_options(2, 2);
    options.exchange = ranks.rank() == 0 ? Precision::f32 : Precision::bf16;
    options.ranks = &ranks;
    const Trainer trainer(*small.model, *small.data, options);
  });
  for (const std::string& error : errors) CHECK(error.find("exchange") != std::string::npos);
}

}  // namespace weft::test
