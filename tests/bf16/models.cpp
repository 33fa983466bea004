// Tests of models in mixed precision: each architecture and task in bf16, compared with f32 for the same parameters.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/sequence.h"
#include "op_table.h"
#include "series_support.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/ops.h"
#include "weft/parameter_set.h"

namespace weft::test {
namespace {

constexpr struct {
  const char* arch;
  Task task;
  const char* config;
} all_models[] = {
    {"gmlp", Task::causal_lm, R"({"d_model":16,"d_ffn":32,"layers":2,"seq_len":24,"dropout":0.1})"},
    {"gmlp", Task::causal_lm, R"({"d_model":16,"d_ffn":32,"layers":2,"seq_len":24,"tied":true,"positions":false})"},
    {"gmlp", Task::masked_lm, R"({"d_model":16,"d_ffn":32,"layers":2,"seq_len":24})"},
    {"gmlp", Task::classifier, R"({"d_model":16,"d_ffn":32,"layers":2,"seq_len":24,"dropout":0.1})"},
    {"tnn", Task::causal_lm, R"({"d_model":16,"layers":2,"rpe_dim":8,"dropout":0.1})"},
    {"tnn", Task::causal_lm,
     R"({"d_model":16,"layers":2,"heads":2,"rpe_dim":8,"normalize":true,"act_type":"exp",)"
     R"("use_norm":true,"norm_type":"simplermsnorm","gamma":0.9})"},
    {"tnn", Task::causal_lm,
     R"({"d_model":16,"layers":2,"rpe_dim":8,"use_decay":false,"use_multi_decay":true,)"
     R"("prenorm":false,"gamma":0.5,"bias":false})"},
    {"tnn", Task::causal_lm,
     R"({"d_model":16,"layers":2,"rpe_dim":8,"tied":false,"norm_type":"simplermsnorm","final_norm":"layernorm"})"},
    {"tnn", Task::masked_lm, R"({"d_model":16,"layers":2,"rpe_dim":8})"},
    {"tnn", Task::classifier, R"({"d_model":16,"layers":2,"rpe_dim":8,"dropout":0.1})"},
    {"fnet", Task::masked_lm, R"({"d_model":16,"layers":2,"seq_len":24,"dropout":0.1})"},
    {"fnet", Task::masked_lm, R"({"d_model":16,"layers":2,"seq_len":24,"norm":"pre","activation":"relu"})"},
    {"fnet", Task::classifier, R"({"d_model":16,"layers":2,"seq_len":24,"dropout":0.1})"},
    {"fnet", Task::classifier,
     R"({"d_model":16,"layers":2,"seq_len":24,"norm":"pre","head":"last","embeddings":"sinusoidal"})"},
    {"fnet", Task::classifier, R"({"d_model":16,"layers":2,"seq_len":24,"head":"mean"})"},
};
using ModelCase = std::remove_const_t<std::remove_reference_t<decltype(all_models[0])>>;

constexpr std::int64_t symbols = 7, batch = 3, length = 20;

std::unique_ptr<Model> made(const ModelCase& c, Precision precision) {
  auto model = make_model({c.arch, c.task, symbols, 3, c.config}, {Random(5), DType::f32});
  for (auto [name, parameter] : model->parameters())  // biases of 0 would hide errors
    if (parameter.value().rank() == 1)
      parameter.assign(add(parameter.value(), Random(name.size()).normal(parameter.value().shape(), 0, 0.1)));
  model->set_precision(precision);
  return model;
}

Tensor tokens_of(std::int64_t rows = batch) { return random_tensor(indices({rows, length}, symbols), 3); }

Tensor targets_of(const Tensor& logits) {
  const Shape shape(logits.shape().begin(), logits.shape().end() - 1);
  return random_tensor(indices(shape, logits.size(-1)), 4);
}

double norm_of(const Tensor& x) { return std::sqrt(sum(square(raw::convert(x, DType::f64))).item()); }

// ‖a - b‖ / ‖b‖
double relative_error(const Tensor& a, const Tensor& b) {
  return norm_of(sub(raw::convert(a, DType::f64), raw::convert(b, DType::f64))) / norm_of(b);
}

// Returns the gradient of `scaled` times the loss, for each parameter.
std::vector<std::pair<std::string, Tensor>> gradients_of(const Model& model, double scaled = 1) {
  ParameterSet set(model.parameters());
  set.zero_gradients();
  Tape tape;
  const Random dropout(9);
  const Tensor logits = model(tokens_of(), &dropout);
  const Tensor loss = cross_entropy(logits, targets_of(logits));
  tape.backward(loss, Tensor::full({}, scaled, loss.dtype()), set);
  std::vector<std::pair<std::string, Tensor>> gradients;
  for (const ParameterSet::Entry& entry : set.entries()) {
    const Tensor gradient = set.gradient(entry);
    Tensor own = Tensor::empty(gradient.shape(), gradient.dtype());
    raw::copy(gradient, own);
    gradients.emplace_back(entry.name, own);
  }
  return gradients;
}

// Trains in f32 and in bf16. The losses of both precisions must fall, and end close to each other.
void check_learns_in_bf16(const std::function<SmallTask()>& make, double label_smoothing = 0) {
  double last[2], first = 0;
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    const SmallTask small = make();
    small.model->set_precision(precision);
    TrainOptions options = small_options(30);
    options.label_smoothing = label_smoothing;
    Trainer trainer(*small.model, *small.data, options);
    first = evaluate(*small.model, *small.data).loss;
    for (int i = 0; i < 30; ++i) (void)trainer.step();
    last[precision == Precision::bf16] = evaluate(*small.model, *small.data).loss;
  }
  CHECK(last[0] < first);
  CHECK(last[1] != last[0]);
  CHECK(last[1] < first - 0.5 * (first - last[0]));
  CHECK(std::abs(last[1] - last[0]) < 0.05 * first);
}

bool contains_all(const std::string& text, const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("precision: names") {
  CHECK(std::string(precision_name(Precision::f32)) == "f32");
  CHECK(std::string(precision_name(Precision::bf16)) == "bf16");
  for (const std::string& name : precisions()) CHECK(precision_name(precision_from_name(name)) == name);
  CHECK(error_of([] { (void)precision_from_name("f16"); }) == "[precision] expected one of f32, bf16, got \"f16\"");
}

TEST_CASE("precision: the default is f32, and bf16 models have f32 parameters") {
  const ModelSpec spec{"gmlp", Task::causal_lm, symbols, 0, R"({"d_model":4,"layers":1,"seq_len":4})"};
  const auto model = make_model(spec, {Random(1), DType::f64});
  CHECK(model->precision() == Precision::f32);
  CHECK(contains_all(error_of([&] { model->set_precision(Precision::bf16); }), {"precision bf16", "f64", "embedding"}));
  CHECK(model->precision() == Precision::f32);
}

// bf16 has 8 bits of precision. An operation rounds each element with a relative error of at most 2^-8, and the errors
// of about thirty operations add up.
TEST_CASE("bf16 models: logits are bf16 and equal the f32 logits up to rounding") {
  for (const ModelCase& c : all_models) {
    const std::string config = c.config;
    CAPTURE(c.arch);
    CAPTURE(config);
    const Tensor f32 = (*made(c, Precision::f32))(tokens_of()), bf16 = (*made(c, Precision::bf16))(tokens_of());
    CHECK(f32.dtype() == DType::f32);
    CHECK(bf16.dtype() == DType::bf16);
    const double error = relative_error(bf16, f32);
    CHECK(error < 0.03);
    CHECK(error > 1e-4);
  }
}

TEST_CASE("bf16 models: the mean over tokens is computed in f32 and rounded once") {
  const Tensor tokens = tokens_of(), x = raw::convert(Random(1).normal({batch, length, 40}, 0, 1), DType::bf16);
  const Tensor want = detail::mean_of_tokens(raw::convert(x, DType::f32), tokens);
  CHECK(same_bits(detail::mean_of_tokens(x, tokens), raw::convert(want, DType::bf16)));
}

// The allowed difference depends on how sensitive these models are to rounding. `rounding` is the effect of rounding
// only the weights to bf16, in a model that computes in f32.
TEST_CASE("bf16 models: gradients are f32 and equal those of f32 models up to rounding") {
  for (const ModelCase& c : all_models) {
    const std::string config = c.config;
    CAPTURE(c.arch);
    CAPTURE(config);
    const auto f32 = made(c, Precision::f32);
    const auto want = gradients_of(*f32), got = gradients_of(*made(c, Precision::bf16));
    for (auto [name, parameter] : f32->parameters())
      if (parameter.value().rank() > 1)
        parameter.assign(raw::convert(raw::convert(parameter.value(), DType::bf16), DType::f32));
    const auto rounded = gradients_of(*f32);
    double largest = 0;
    for (const auto& [name, gradient] : want) largest = std::max(largest, norm_of(gradient));
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      CAPTURE(want[i].first);
      CHECK(got[i].second.dtype() == DType::f32);
      const Tensor& gradient = want[i].second;
      const double error = norm_of(sub(got[i].second, gradient)), rounding = norm_of(sub(rounded[i].second, gradient));
      CHECK(error < 3 * rounding + 0.03 * norm_of(gradient) + 0.001 * largest);
    }
  }
}

// Unlike f16, bf16 needs no loss scaling, because it has the exponent range of f32.
TEST_CASE("bf16 models: if the loss is multiplied by 2^k, so are the gradients, bit by bit") {
  for (const ModelCase& c : all_models) {
    const std::string config = c.config;
    CAPTURE(c.arch);
    CAPTURE(config);
    const auto model = made(c, Precision::bf16);
    const auto want = gradients_of(*model);
    for (const int k : {-40, -12, 12, 40}) {
      CAPTURE(k);
      const auto scaled = gradients_of(*model, std::ldexp(1, k));
      for (std::size_t i = 0; i < want.size(); ++i) {
        CAPTURE(want[i].first);
        CHECK(same_bits(scaled[i].second, scale(want[i].second, std::ldexp(1, k))));
      }
    }
  }
}

// Counts activations of the models' inner sizes, but not parameters, gradients and TNN's coefficients.
TEST_CASE("bf16 models: a recorded forward pass keeps half as much memory as in f32") {
  for (const char* arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const ModelSpec spec{arch, Task::masked_lm, symbols, 0, R"({"d_model":64,"layers":2,"seq_len":64})"};
    double kept[2];
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const auto model = make_model(spec, {Random(5), DType::f32});
      model->set_precision(precision);
      const Tensor tokens = random_tensor(indices({sweep(64, 16), 64}, symbols), 3);
      MemoryCache& memory = Context::current().memory();
      memory.trim();
      const auto before = static_cast<double>(memory.use().current);
      const Tape tape;
      const Tensor logits = (*model)(tokens);
      memory.trim();
      kept[precision == Precision::bf16] = static_cast<double>(memory.use().current) - before;
    }
    CHECK(kept[1] < 0.55 * kept[0]);
  }
}

TEST_CASE("bf16 models: the bits are the same for any number of threads") {
  for (const ModelCase& c : all_models) {
    const std::string config = c.config;
    CAPTURE(c.arch);
    CAPTURE(config);
    std::vector<std::pair<std::string, Tensor>> first;
    for (const int threads : {1, 2, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      const auto gradients = gradients_of(*made(c, Precision::bf16));
      if (threads == 1) first = gradients;
      for (std::size_t i = 0; i < first.size(); ++i) CHECK(same_bits(gradients[i].second, first[i].second));
    }
  }
}

TEST_CASE("bf16 training: the loss falls as in f32, also with label smoothing") {
  for (const std::string& arch : own_architectures)
    for (const Task task : {usual_task(arch), Task::classifier})
      for (const double smoothing : {0.0, 0.1}) {
        CAPTURE(arch);
        CAPTURE(task_name(task));
        check_learns_in_bf16([&] { return small_task(arch, task); }, smoothing);
      }
}

TEST_CASE("bf16 training: the loss falls as in f32 for every other task on rows, and for a forecast from frames") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    for (const Task task : architecture(arch).tasks) {
      if (task_source(task) != Source::rows || task == Task::classifier) continue;
      CAPTURE(task_name(task));
      check_learns_in_bf16([&] { return small_task(arch, task); });
    }
    CAPTURE("frames");
    check_learns_in_bf16([&] { return small_forecast(arch); });
  }
}

TEST_CASE("bf16 training: a resumed run gives the same bits, and a state belongs to one precision") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const SmallTask whole = small_task(arch, usual_task(arch)), half = small_task(arch, usual_task(arch)),
                    resumed = small_task(arch, usual_task(arch)), other = small_task(arch, usual_task(arch));
    for (const SmallTask* small : {&whole, &half, &resumed}) small->model->set_precision(Precision::bf16);
    Trainer all(*whole.model, *whole.data, small_options(9));
    for (int i = 0; i < 9; ++i) (void)all.step();
    Trainer before(*half.model, *half.data, small_options(9));
    for (int i = 0; i < 4; ++i) (void)before.step();
    before.save_state(folder / "state");
    Trainer after(*resumed.model, *resumed.data, small_options(9));
    after.load_state(folder / "state");
    for (int i = 4; i < 9; ++i) (void)after.step();
    const NamedParameters want = whole.model->parameters(), got = resumed.model->parameters();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i].second.value(), want[i].second.value()));
    Trainer f32(*other.model, *other.data, small_options(9));
    CHECK(contains_all(error_of([&] { f32.load_state(folder / "state"); }),
                       {"precision \"bf16\"", "this run has \"f32\""}));
    CHECK(contains_all(all.description(), {"\"precision\": \"bf16\""}));
  }
}

TEST_CASE("bf16: a checkpoint has f32 parameters, records the precision, and loads like any other") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  small.model->set_precision(Precision::bf16);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  CHECK(contains_all(folder.read("run/config.json"), {"\"precision\": \"bf16\""}));
  const Checkpoint loaded = load_checkpoint(folder / "run");
  CHECK(loaded.model->precision() == Precision::f32);
  const NamedParameters want = small.model->parameters(), got = loaded.model->parameters();
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i].second.value(), want[i].second.value()));
  small.model->set_precision(Precision::f32);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  CHECK(folder.read("run/config.json").find("precision") == std::string::npos);
}

// Packs the weights for one dtype and then for the other.
TEST_CASE("bf16: a model loaded for inference gives the usual bits when the precision changes repeatedly") {
  for (const std::string& arch : own_architectures)
    for (const Task task : {usual_task(arch), Task::classifier}) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const TemporaryFolder folder;
      const SmallTask small = small_task(arch, task);
      save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
      const Checkpoint loaded = load_checkpoint(folder / "run", Purpose::inference);
      const NoGrad suspended;
      for (int round = 0; round < 3; ++round)
        for (const Precision precision : {Precision::bf16, Precision::f32})
          for (const std::int64_t rows : {1, 3}) {
            small.model->set_precision(precision);
            loaded.model->set_precision(precision);
            const Tensor tokens = random_tensor(indices({rows, 11}, small.model->vocabulary()), 3);
            CHECK(same_bits((*loaded.model)(tokens), (*small.model)(tokens)));
          }
    }
}

// The packed weight has 2 bytes per element for bf16 and 4 for f32. 192 rows fill the panels of every instruction set,
// which have 8, 12, 16 or 32 rows.
TEST_CASE("Linear: its packed weight follows the dtype of the last x, and is packed immediately for bf16") {
  const NoGrad suspended;
  const Linear layer(256, 192, {Random(1), DType::f32});
  MemoryCache& memory = Context::current().memory();
  const auto held_after = [&](std::int64_t rows, DType dtype) {
    (void)layer(raw::convert(Random(2).normal({rows, 256}, 0, 1), dtype));
    memory.trim();
    return static_cast<std::int64_t>(memory.use().current);
  };
  const std::int64_t none = held_after(1, DType::f32), element = 192 * 256;
  CHECK(held_after(1, DType::bf16) == none + 2 * element);
  CHECK(held_after(32, DType::f32) == none + 4 * element);
  CHECK(held_after(32, DType::bf16) == none + 2 * element);
}

TEST_CASE("bf16 token streams: the logits equal those of the forward pass up to rounding, for one or several tokens") {
  for (const ModelCase& c : all_models) {
    if (c.task != Task::causal_lm) continue;
    const std::string config = c.config;
    CAPTURE(c.arch);
    CAPTURE(config);
    const auto model = made(c, Precision::bf16);
    const NoGrad suspended;
    const Tensor tokens = tokens_of(1), all = raw::convert((*model)(tokens), DType::f32);  // (1, n, symbols)
    const auto one_by_one = model->stream(), at_once = model->stream();
    const auto ids = tokens.to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < length; ++i) {
      const Tensor logits = one_by_one->next(ids[static_cast<std::size_t>(i)]);
      CHECK(logits.dtype() == DType::bf16);
      CHECK(relative_error(logits, reshape(slice(all, 1, i, i + 1), {symbols})) < 0.03);
    }
    (void)at_once->append(slice(tokens, 1, 0, 8));
    const Tensor rest = at_once->append(slice(tokens, 1, 8, length));
    CHECK(relative_error(rest, reshape(slice(all, 1, length - 1, length), {1, symbols})) < 0.03);
    model->set_precision(Precision::f32);
    CHECK(contains_all(error_of([&] { (void)at_once->append(slice(tokens, 1, 0, 1)); }),
                       {"precision is now f32", "it was bf16", "new stream"}));
  }
}

TEST_CASE(
    "PackedWeight: an f32 weight packed for bf16 gives linear's bits for any sizes, and other pairs are refused") {
  for (const std::int64_t out : {1, 5, 16, 17, 40})
    for (const std::int64_t in : {1, 7, 64})
      for (const std::int64_t rows : {1, 3, 30}) {
        CAPTURE(out);
        CAPTURE(in);
        CAPTURE(rows);
        const Tensor weight = Random(1).normal({out, in}, 0, 1), bias = Random(2).normal({out}, 0, 1),
                     x = raw::convert(Random(3).normal({rows, in}, 0, 1), DType::bf16);
        const PackedWeight packed(weight, DType::bf16);
        CHECK(packed.dtype() == DType::bf16);
        CHECK(same_bits(packed_linear(x, packed), linear(x, weight)));
        CHECK(same_bits(packed_linear(x, packed, bias, Activation::gelu), linear(x, weight, bias, Activation::gelu)));
        const Tensor wide = raw::convert(x, DType::f32);
        CHECK(same_bits(packed_linear(wide, packed), linear(wide, weight)));  // computes with the weight itself
      }
  const Tensor weight = Random(1).normal({4, 4}, 0, 1);
  CHECK_THROWS_AS(PackedWeight(weight, DType::f64), Error);
  CHECK_THROWS_AS(PackedWeight(raw::convert(weight, DType::f64), DType::bf16), Error);
  CHECK_THROWS_AS(PackedWeight(raw::convert(weight, DType::bf16), DType::f64), Error);
}

}  // namespace weft::test
