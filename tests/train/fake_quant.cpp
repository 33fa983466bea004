// Tests of fake quantization: steps, evaluations and checkpoints use rounded weights, and the exact ones learn.
#include <doctest/doctest.h>

#include "contains.h"
#include "same_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/quantize.h"
#include "weft/quantized.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

TrainOptions rounding_to(Quantization to, std::int64_t steps = 9) {
  TrainOptions options = small_options(steps);
  options.fake_quant = to;
  return options;
}

// The values of the parameters after rounding, computed from the documentation of quantize().
std::vector<Tensor> rounded_values(const Model& model, Quantization to) {
  std::vector<Tensor> all;
  for (const auto& [name, parameter] : model.parameters()) {
    Tensor value = raw::contiguous(parameter.value());
    if (parameter.quantizable() && to == Quantization::bf16)
      value = raw::convert(raw::convert(value, DType::bf16), DType::f32);
    else if (parameter.quantizable()) value = QuantizedWeight(value, to == Quantization::int8 ? 8 : 4).dequantized();
    all.push_back(Tensor::from(value.to_vector<float>(), value.shape()));
  }
  return all;
}

bool holds(const Model& model, const std::vector<Tensor>& values) {
  std::size_t i = 0;
  for (const auto& [name, parameter] : model.parameters())
    if (parameter.value().to_vector<float>() != values[i++].to_vector<float>()) return false;
  return true;
}

}  // namespace

TEST_CASE("fake quantization: a step adds the gradient for the rounded weights to the exact ones") {
  for (const Quantization to : quantizations()) {
    CAPTURE(quantization_name(to));
    // A trainer without rounding, whose model has the rounded weights, gives the gradient.
    SmallTask exact = small_task("tnn", Task::causal_lm), moved = small_task("tnn", Task::causal_lm);
    TrainOptions options = rounding_to(to), plain = small_options(9);
    for (TrainOptions* each : {&options, &plain}) {
      each->optimizer.name = "sgd";
      each->optimizer.weight_decay = 0;
      each->optimizer.clip = 0;
      each->schedule.warmup = 0;
      each->schedule.peak = 0.25;
    }
    const std::vector<Tensor> rounded = rounded_values(*exact.model, to);
    std::vector<std::vector<float>> before;
    for (const auto& [name, parameter] : exact.model->parameters())
      before.push_back(parameter.value().to_vector<float>());
    std::size_t i = 0;
    for (auto& [name, parameter] : moved.model->parameters()) Parameter(parameter).assign(rounded[i++]);
    Trainer trainer(*exact.model, *exact.data, options), of_rounded(*moved.model, *moved.data, plain);
    CHECK(trainer.step() == of_rounded.step());
    double worst = 0, largest = 0;
    i = 0;
    const NamedParameters after = exact.model->parameters(), other = moved.model->parameters();
    for (std::size_t p = 0; p < after.size(); ++p) {
      const auto got = after[p].second.value().to_vector<float>(), end = other[p].second.value().to_vector<float>();
      const auto start = rounded[p].to_vector<float>();
      for (std::size_t k = 0; k < got.size(); ++k) {
        const double want = double(end[k]) - double(start[k]);
        worst = std::max(worst, std::abs(double(got[k]) - double(before[p][k]) - want));
        largest = std::max(largest, std::abs(want));
      }
    }
    CHECK(largest > 1e-3);
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("fake quantization: evaluations and checkpoints have rounded weights, the model itself has exact ones") {
  for (const bool averaged : {false, true}) {
    CAPTURE(averaged);
    const TemporaryFolder folder;
    SmallTask small = small_task("gmlp", Task::classifier);
    TrainOptions options = rounding_to(Quantization::int4);
    if (averaged) options.ema = 0.9;
    Trainer trainer(*small.model, *small.data, options);
    RunOptions run;
    run.folder = folder / "run";
    run.eval_every = 4;
    const RunResult result = trainer.run(run);
    CHECK_FALSE(holds(*small.model, rounded_values(*small.model, Quantization::int4)));
    if (!averaged) {
      const std::vector<Tensor> rounded = rounded_values(*small.model, Quantization::int4);
      trainer.with_average([&] {
        CHECK(holds(*small.model, rounded));
        trainer.with_average([&] { CHECK(holds(*small.model, rounded)); });
        CHECK(holds(*small.model, rounded));
      });
    }
    const Checkpoint last = load_checkpoint(last_path(run.folder));
    trainer.with_average([&] { CHECK(same_parameters(*last.model, *small.model)); });
    CHECK(result.evaluation->loss == evaluate(*last.model, *small.data).loss);
    CHECK(*last.info.validation_loss == result.evaluation->loss);
    CHECK(trainer.is_saved_as(last));
    const auto save = [&] { trainer.save_state(folder / "state"); };
    CHECK_THROWS_WITH_AS(trainer.with_average(save), doctest::Contains("rounded"), Error);
    CHECK_NOTHROW(save());
  }
}

TEST_CASE("fake quantization: the moving average is one of the exact weights, and rounded when it is used") {
  SmallTask small = small_task("gmlp", Task::classifier);
  TrainOptions options = rounding_to(Quantization::int8);
  options.ema = 0.9;
  Trainer trainer(*small.model, *small.data, options);
  std::vector<std::vector<float>> average;
  for (const auto& [name, parameter] : small.model->parameters())
    average.push_back(parameter.value().to_vector<float>());
  for (int t = 1; t <= 6; ++t) {
    (void)trainer.step();
    const auto take = static_cast<float>(1 - std::min(0.9, (1.0 + t) / (10.0 + t)));
    std::size_t i = 0;
    for (const auto& [name, parameter] : small.model->parameters()) {
      const std::vector<float> now = parameter.value().to_vector<float>();
      for (std::size_t k = 0; k < now.size(); ++k) average[i][k] += take * (now[k] - average[i][k]);
      ++i;
    }
  }
  trainer.with_average([&] {
    std::size_t i = 0;
    for (const auto& each : small.model->parameters()) {
      const Parameter& parameter = each.second;
      const std::vector<float> now = parameter.value().to_vector<float>();
      Tensor want = Tensor::from(average[i], parameter.shape());
      if (parameter.quantizable()) want = QuantizedWeight(want).dequantized();
      const std::vector<float> expected = want.to_vector<float>();
      double worst = 0;
      for (std::size_t k = 0; k < now.size(); ++k) worst = std::max(worst, std::abs(double(now[k]) - expected[k]));
      CHECK_MESSAGE(worst < 1e-6, each.first);
      ++i;
    }
  });
}

TEST_CASE("fake quantization: quantize() changes hardly anything in a checkpoint that was trained for it") {
  for (const Quantization to : quantizations()) {
    CAPTURE(quantization_name(to));
    const TemporaryFolder folder;
    SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, rounding_to(to, 60));
    RunOptions run;
    run.folder = folder / "run";
    (void)trainer.run(run);
    const Checkpoint last = load_checkpoint(last_path(run.folder));
    const std::vector<Tensor> again = rounded_values(*last.model, to);
    std::int64_t different = 0, all = 0, i = 0;
    for (const auto& [name, parameter] : last.model->parameters()) {
      const auto now = parameter.value().to_vector<float>(),
                 then = again[static_cast<std::size_t>(i++)].to_vector<float>();
      for (std::size_t k = 0; k < now.size(); ++k) different += now[k] != then[k];
      all += parameter.value().numel();
    }
    // In 4 bits, a group whose largest value is ±6 gets another scale.
    CHECK(different <= (to == Quantization::int4 ? all / 100 : 0));
  }
}

TEST_CASE("fake quantization: a trainer does not change the weights of a newer trainer") {
  SmallTask small = small_task("gmlp", Task::classifier);
  Trainer first(*small.model, *small.data, rounding_to(Quantization::int4));
  Trainer second(*small.model, *small.data, rounding_to(Quantization::int4));
  std::vector<Tensor> before;
  for (const auto& [name, parameter] : small.model->parameters())
    before.push_back(Tensor::from(parameter.value().to_vector<float>(), parameter.shape()));
  first.with_average([] {});
  CHECK_THROWS_AS((void)first.step(), Error);
  CHECK(holds(*small.model, before));
}

TEST_CASE("fake quantization: a resumed run gives the same bits, and a state belongs to a run with the same rounding") {
  const TemporaryFolder folder;
  SmallTask whole = small_task("fnet", Task::classifier), first = small_task("fnet", Task::classifier),
            second = small_task("fnet", Task::classifier), other = small_task("fnet", Task::classifier);
  Trainer trainer(*whole.model, *whole.data, rounding_to(Quantization::int4));
  for (int t = 0; t < 9; ++t) (void)trainer.step();
  {
    Trainer begun(*first.model, *first.data, rounding_to(Quantization::int4));
    for (int t = 0; t < 4; ++t) (void)begun.step();
    begun.save_state(folder / "state");
  }
  Trainer resumed(*second.model, *second.data, rounding_to(Quantization::int4));
  resumed.load_state(folder / "state");
  for (int t = 4; t < 9; ++t) (void)resumed.step();
  CHECK(same_parameters(*whole.model, *second.model));
  Trainer plain(*other.model, *other.data, small_options(9));
  CHECK_THROWS_WITH_AS(plain.load_state(folder / "state"), doctest::Contains("fake-quant \"int4\""), Error);
}

TEST_CASE("fake quantization: a model without weights that may be rounded, and weights that are not finite") {
  SmallTask small = small_task("gmlp", Task::classifier);
  for (auto& [name, parameter] : small.model->parameters()) Parameter(parameter).set_quantizable(false);
  CHECK_THROWS_WITH_AS(Trainer(*small.model, *small.data, rounding_to(Quantization::int8)),
                       doctest::Contains("can be rounded to int8"), Error);
  SmallTask broken = small_task("gmlp", Task::classifier);
  Trainer trainer(*broken.model, *broken.data, rounding_to(Quantization::int4));
  for (auto& [name, parameter] : broken.model->parameters())
    if (parameter.quantizable()) {
      Parameter(parameter).assign(Tensor::full(parameter.shape(), std::nan("")));
      break;
    }
  const auto values = [&] {
    std::vector<std::vector<float>> all;
    for (const auto& [name, parameter] : broken.model->parameters())
      if (parameter.value().to_vector<float>()[0] == parameter.value().to_vector<float>()[0])  // not the one with NaN
        all.push_back(parameter.value().to_vector<float>());
    return all;
  };
  const auto before = values();
  for (int attempt = 0; attempt < 2; ++attempt)
    CHECK_THROWS_WITH_AS((void)trainer.step(), doctest::Contains("step 1: the norm of the parameters is nan"), Error);
  CHECK_THROWS_WITH_AS(trainer.with_average([] {}), doctest::Contains("can't be rounded"), Error);
  CHECK(values() == before);
}

}  // namespace weft::test
