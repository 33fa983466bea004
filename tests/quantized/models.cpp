// Tests of quantized models: what is rounded and how, their results, and that they only serve for inference.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <thread>

#include "contains.h"
#include "op_table.h"
#include "quantized_cases.h"
#include "random_parameters.h"
#include "series_support.h"
#include "temporary_folder.h"
#include "weft/context.h"
#include "weft/generate.h"
#include "weft/optimizer.h"
#include "weft/quantize.h"

namespace weft::test {
namespace {

// bf16 has 8 significant bits. So the difference from the nearest bf16 number is at most 2^-8 times the number's power
// of two.
void check_rounded_to_bf16(const Tensor& was, const Parameter& is) {
  CHECK(is.value().dtype() == DType::bf16);
  CHECK_FALSE(is.scales().defined());
  CHECK(same_bits(is.value(), raw::convert(was, DType::bf16)));
}

// For each row, the scale follows from the largest value, and each value is rounded to the nearest multiple of the
// scale.
void check_rounded_to_i8(const Tensor& was, const Parameter& is) {
  REQUIRE(is.value().dtype() == DType::i8);
  const auto w = was.to_vector<float>(), scales = is.scales().to_vector<float>();
  const auto q = is.value().to_vector<std::int8_t>();
  const std::int64_t columns = was.size(1);
  REQUIRE(std::ssize(scales) == was.size(0));
  for (std::int64_t i = 0; i < was.size(0); ++i) {
    const auto s = static_cast<double>(scales[static_cast<std::size_t>(i)]);
    double largest = 0, error = 0;
    for (std::int64_t j = i * columns; j < (i + 1) * columns; ++j) {
      const auto at = static_cast<std::size_t>(j);
      largest = std::max(largest, std::abs(static_cast<double>(w[at])));
      error = std::max(error, std::abs(static_cast<double>(w[at]) - s * q[at]));
    }
    CHECK(s == doctest::Approx(largest / 127).epsilon(1e-6));
    CHECK(error <= s * 0.5001);
  }
}

// Each value is the nearest multiple of its group's scale. tests/quantized/int4.cpp tests the scales.
void check_rounded_to_i4(const Tensor& was, const Parameter& is) {
  REQUIRE(is.value().dtype() == DType::i8);
  CHECK(is.value().shape() == Shape{was.size(0), (was.size(1) + 1) / 2});
  CHECK(is.shape() == was.shape());
  const QuantizedWeight own(was, 4), stored(is.value(), is.scales(), was.size(1));
  CHECK(same_bits(stored.values(), own.values()));
  CHECK(same_bits(stored.scales(), own.scales()));
}

Tensor tokens_of(const Model& model, std::int64_t b, std::int64_t n) {
  return random_tensor(indices({b, n}, model.vocabulary()), 3);
}

double norm_of(const Tensor& x) {
  double sum = 0;
  for (const float v : raw::convert(x, DType::f32).to_vector<float>()) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

// ‖a - b‖ / ‖b‖
double relative_error(const Tensor& a, const Tensor& b) {
  return norm_of(sub(raw::convert(a, DType::f32), raw::convert(b, DType::f32))) / norm_of(b);
}

}  // namespace

TEST_CASE("quantize: rounds each weight of a Linear and each table, row by row, and nothing else") {
  for (const QuantizedCase& c : quantized_cases()) {
    CAPTURE(c.name);
    const auto was = trained(c), is = trained(c);
    quantize(*is.model, c.to);
    CHECK(quantized_to(is.model->parameters()) == c.to);
    CHECK(is.model->precision() == Precision::bf16);
    CHECK(parameter_count(is.model->parameters()) == parameter_count(was.model->parameters()));
    const NamedParameters before = was.model->parameters(), after = is.model->parameters();
    std::int64_t rounded = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string& name = before[i].first;
      CAPTURE(name);
      const bool stays = before[i].second.value().rank() != 2 || contains(name, "rpe.") || contains(name, "sgu.") ||
                         contains(name, "position.") || contains(name, "type.");
      const Tensor& value = before[i].second.value();
      if (stays) CHECK(same_bits(after[i].second.value(), value));
      else if (c.to == Quantization::int8) check_rounded_to_i8(value, after[i].second);
      else if (c.to == Quantization::int4) check_rounded_to_i4(value, after[i].second);
      else check_rounded_to_bf16(value, after[i].second);
      if (!stays) rounded += value.numel();
    }
    CHECK(rounded > parameter_count(before) / 3);
  }
}

TEST_CASE(
    "quantize: the loss is that of f32 within 6 % for int4, 1 % for int8 and 0.2 % for bf16, in either precision") {
  for (const QuantizedCase& c : quantized_cases()) {
    CAPTURE(c.name);
    const auto small = trained(c);
    const double was = evaluate(*small.model, *small.data).loss;
    quantize(*small.model, c.to);
    for (const Precision precision : {Precision::bf16, Precision::f32}) {
      CAPTURE((precision == Precision::bf16));
      small.model->set_precision(precision);
      const double is = evaluate(*small.model, *small.data).loss;
      CHECK(is != was);
      CHECK(std::abs(is - was) < (c.to == Quantization::int4 ? 0.06 : c.to == Quantization::int8 ? 0.01 : 0.002) * was);
    }
  }
}

TEST_CASE(
    "quantized models: logits have the precision's dtype and are close to those of f32, for one token and for many") {
  for (const QuantizedCase& c : quantized_cases()) {
    CAPTURE(c.name);
    const auto was = trained(c), is = trained(c);
    quantize(*is.model, c.to);
    const NoGrad suspended;
    for (const Precision precision : {Precision::bf16, Precision::f32, Precision::bf16})
      for (const auto& [b, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 3}, {3, 16}, {1, 2}}) {
        is.model->set_precision(precision);
        const Tensor tokens = tokens_of(*was.model, b, n), got = (*is.model)(tokens);
        CHECK(got.dtype() == (precision == Precision::bf16 ? DType::bf16 : DType::f32));
        CHECK(relative_error(got, (*was.model)(tokens)) < (c.to == Quantization::int4 ? 0.4 : 0.05));
        CHECK(same_bits(got, (*is.model)(tokens)));
      }
  }
}

TEST_CASE("quantized models: the bits are the same for any number of threads, and in concurrent threads") {
  for (const QuantizedCase& c : quantized_cases()) {
    CAPTURE(c.name);
    const auto small = trained(c), other = trained(c);
    quantize(*small.model, c.to);
    quantize(*other.model, c.to);
    const Tensor tokens = tokens_of(*small.model, 2, 16);
    Tensor first;
    for (const int threads : {1, 2, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      const NoGrad suspended;
      const Tensor got = (*small.model)(tokens);
      if (threads == 1) first = got;
      CHECK(same_bits(got, first));
    }
    std::vector<Tensor> got(4);
    std::vector<std::thread> all;
    for (Tensor& logits : got)
      all.emplace_back([&logits, &other, tokens] {
        Context context;
        const ContextScope scope(context);
        const NoGrad suspended;
        logits = (*other.model)(tokens);
      });
    for (std::thread& thread : all) thread.join();
    for (const Tensor& logits : got) CHECK(same_bits(logits, first));
  }
}

TEST_CASE("quantized models: a forecast from frames, before and after its checkpoint is loaded") {
  for (const std::string& arch : own_architectures)
    for (const Quantization to : quantizations()) {
      CAPTURE(arch);
      CAPTURE(quantization_name(to));
      const TemporaryFolder folder;
      const SmallTask small = small_forecast(arch);
      Trainer trainer(*small.model, *small.data, small_options(60));
      for (int i = 0; i < 60; ++i) (void)trainer.step();
      const NoGrad suspended;
      const Batch batch = small.data->validation(0);
      const Tensor was = small.model->forward({{}, batch.frames});
      const double loss = evaluate(*small.model, *small.data).loss;
      quantize(*small.model, to);
      save_checkpoint(folder / "model", *small.model, *small.data->tokenizer());
      const Checkpoint loaded = load_checkpoint(folder / "model", Purpose::inference);
      for (const Precision precision : {Precision::bf16, Precision::f32}) {
        CAPTURE(precision_name(precision));
        small.model->set_precision(precision);
        loaded.model->set_precision(precision);
        const Tensor is = small.model->forward({{}, batch.frames});
        CHECK(relative_error(is, was) > 0);
        const double change = std::abs(evaluate(*small.model, *small.data).loss - loss);
        CHECK(change < (to == Quantization::int4 ? 0.06 : to == Quantization::int8 ? 0.01 : 0.002) * loss);
        CHECK(same_bits(loaded.model->forward({{}, batch.frames}), is));
      }
    }
}

TEST_CASE("quantized models: a token stream's logits equal those of the forward pass up to rounding") {
  for (const QuantizedCase& c : quantized_cases()) {
    if (c.task != Task::causal_lm) continue;
    CAPTURE(c.name);
    const auto small = trained(c);
    quantize(*small.model, c.to);
    const NoGrad suspended;
    const std::int64_t n = 16, symbols = small.model->outputs();
    const Tensor tokens = tokens_of(*small.model, 1, n), all = (*small.model)(tokens);  // (1, n, symbols)
    const auto one_by_one = small.model->stream(), prompt = small.model->stream();
    const auto ids = tokens.to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      const Tensor logits = one_by_one->next(ids[static_cast<std::size_t>(i)]);
      CHECK(relative_error(logits, reshape(slice(all, 1, i, i + 1), {symbols})) < 0.05);
    }
    CHECK(relative_error(prompt->append(tokens), reshape(slice(all, 1, n - 1, n), {1, symbols})) < 0.05);
    // A text gives the same bits alone and together with other texts.
    const auto three = prompt->select({0, 0, 0}), alone = prompt->select({0});
    for (std::int64_t step = 0; step < 3; ++step) {
      const Tensor beside = three->append(Tensor::from<std::int64_t>({1, 2 + step, 3}, {3, 1}));
      CHECK(same_bits(slice(beside, 0, 1, 2), alone->append(Tensor::from<std::int64_t>({2 + step}, {1, 1}))));
    }
  }
}

TEST_CASE("quantized models: generate gives the same text for any number of samples") {
  for (const Quantization to : quantizations()) {
    const auto small = trained({"", "gmlp", Task::causal_lm, "{}", to});
    quantize(*small.model, to);
    GenerateOptions options;
    options.tokens = 30;
    std::string alone, first_of_three;
    const auto tokenizer = small.data->tokenizer();
    const auto take = [](std::string& text) {
      return [&text](const SampleText& piece) {
        if (piece.sample == 0) text += piece.text;
        return true;
      };
    };
    (void)generate_samples(*small.model, *tokenizer, "line ", options, 1, take(alone));
    (void)generate_samples(*small.model, *tokenizer, "line ", options, 3, take(first_of_three));
    CHECK_FALSE(alone.empty());
    CHECK(alone == first_of_three);
  }
}

TEST_CASE("quantized models: training, writing and unfreezing are refused, and the error names an alternative") {
  for (const Quantization to : quantizations()) {
    const auto small = trained({"", "tnn", Task::causal_lm, "{}", to}),
               other = trained({"", "tnn", Task::causal_lm, "{}", to});
    quantize(*small.model, to);
    NamedParameters parameters = small.model->parameters();
    const auto refused = [&](const std::function<void()>& body) {
      const std::string message = error_of(body);
      CAPTURE(message);
      CHECK(contains(message, "quantize"));
      CHECK(contains(message, "original"));
    };
    for (auto& [name, parameter] : parameters) {
      CHECK_FALSE(parameter.writable());
      CHECK_FALSE(parameter.trainable());
      CHECK(parameter.quantized());
      Parameter handle = parameter;
      refused([&] { handle.assign(handle.value()); });
      refused([&] { handle.set_trainable(true); });
    }
    refused([&] { (void)ParameterSet(parameters); });
    refused([&] { (void)Optimizer(parameters, {}); });
    refused([&] { (void)Trainer(*small.model, *small.data, small_options(3)); });
    refused([&] { (void)copy_parameters(*small.model, *other.model); });
    refused([&] { (void)copy_parameters(*other.model, *small.model); });
    CHECK(contains(error_of([&] { quantize(*small.model, to); }), "already quantized"));
  }
}

TEST_CASE("quantize: errors name the parameters that can't be rounded, and nothing is changed") {
  const auto small = trained({"", "gmlp", Task::classifier, "{}", Quantization::int8});
  NamedParameters parameters = small.model->parameters();
  const auto refused = [&](Quantization to, const std::string& part) {
    const std::string message = error_of([&] { quantize(*small.model, to); });
    CAPTURE(message);
    CHECK(contains(message, part));
    CHECK_FALSE(quantized_to(parameters));
    for (const auto& [name, parameter] : parameters) CHECK(parameter.writable());
    CHECK(small.model->precision() == Precision::f32);
  };
  refused(static_cast<Quantization>(3), "expected bf16, int8 or int4, got Quantization 3");
  const auto spoil = [&](const std::string& name, double value) {
    for (auto& [which, parameter] : parameters)
      if (which == name) {
        Tensor spoilt = Tensor::full(parameter.value().shape(), 1);
        Tensor last = slice(spoilt, 0, spoilt.size(0) - 1, spoilt.size(0));
        raw::fill(last, value);
        parameter.assign(spoilt);
      }
  };
  spoil("head.weight", 3.4e38);
  refused(Quantization::bf16, "head.weight has elements beyond the largest bf16 number");
  refused(Quantization::int4, "head.weight has elements beyond 2^127, the limit of int4");
  spoil("head.weight", 1);
  spoil("head.bias", std::nan(""));
  for (const Quantization to : quantizations()) refused(to, "parameter head.bias is not finite");
  spoil("blocks.1.proj1.weight", INFINITY);
  for (const Quantization to : quantizations()) refused(to, "parameter blocks.1.proj1.weight is not finite");

  const auto wide = make_model({"gmlp", Task::causal_lm, 7, 0, R"({"d_model":4,"layers":1})"}, {Random(1), DType::f64});
  CHECK(contains(error_of([&] { quantize(*wide, Quantization::int8); }), "expected f32 parameters"));
  CHECK(contains(error_of([] {
                   quantize(NamedParameters{{"a", Parameter(Tensor::zeros({2, 2}))}}, Quantization::int8);
                 }),
                 "no parameter that can be quantized"));
  Parameter vector(Tensor::zeros({2}));
  vector.set_quantizable(true);
  CHECK(error_of([&] {
          quantize(NamedParameters{{"a", vector}}, Quantization::int8);
        }) == "[quantize] expected matrices (out, in), but a is (2,)");
}

TEST_CASE("quantize: a row of zeros has the scale 0, and a parameter that occurs twice is rounded once") {
  const Linear layer(5, 4, {Random(1), DType::f32});
  Tensor value = layer.weight.value();
  Tensor row = slice(value, 0, 2, 3);
  raw::fill(row, 0);
  quantize({{"a", layer.weight}, {"b", layer.weight}}, Quantization::int8);
  CHECK(layer.weight.scales().to_vector<float>()[2] == 0);
  const Tensor y = layer(Random(2).normal({3, 5}, 0, 1));
  for (const std::int64_t i : {0, 1, 2})
    CHECK(slice(slice(y, 0, i, i + 1), 1, 2, 3).item() == layer.bias.value().to_vector<float>()[2]);
}

TEST_CASE("quantized layers: a Linear that was used before reads its quantized weight afterwards") {
  for (const Quantization to : quantizations()) {
    const Linear used(64, 48, {Random(1), DType::f32}), fresh(64, 48, {Random(1), DType::f32});
    const Tensor x = Random(2).normal({40, 64}, 0, 1);
    const NoGrad suspended;
    (void)used(x);
    for (const Linear* layer : {&used, &fresh}) quantize({{"weight", layer->weight}}, to);
    CHECK(same_bits(used(x), fresh(x)));
  }
}

TEST_CASE("quantized layers: the packed copy of the weight is freed") {
  MemoryCache& memory = Context::current().memory();
  for (const Quantization to : quantizations()) {
    const std::size_t before = memory.use().current;
    const Linear layer(512, 512, {Random(1), DType::f32});
    {
      const Tensor x = raw::convert(Random(2).normal({40, 512}, 0, 1), DType::bf16);
      (void)layer(x);
      quantize({{"weight", layer.weight}}, to);
      (void)layer(x);
    }
    CHECK(memory.use().current - before <= 512 * 512 * 2 + 32768);  // i8: one stored and one packed copy
  }
}

TEST_CASE("quantized layers: a weight that replaces another is used") {
  const NoGrad suspended;
  const Tensor x = Random(3).normal({12, 24}, 0, 1);
  for (const Quantization to : quantizations()) {
    Linear layer(24, 7, {Random(1), DType::f32});
    const Linear other(24, 7, {Random(2), DType::f32});
    for (const Linear* each : {static_cast<const Linear*>(&layer), &other}) quantize({{"weight", each->weight}}, to);
    (void)layer(x);
    layer.weight = other.weight;
    layer.bias = other.bias;
    CHECK(same_bits(layer(x), other(x)));
  }
}

TEST_CASE("quantized layers: a tape that does not record them gives the same results") {
  for (const Quantization to : quantizations())
    for (const DType of_x : {DType::f32, DType::bf16}) {
      const Linear layer(24, 7, {Random(1), DType::f32});
      const Tensor x = raw::convert(Random(2).normal({3, 24}, 0, 1), of_x);
      quantize({{"weight", layer.weight}, {"bias", layer.bias}}, to);
      const Tensor want = layer(x);
      const Tape tape;
      CHECK(relative_error(layer(x), want) < 0.01);
    }
}

TEST_CASE("Embedding: logits are the products of the rows with x, for every dtype of the table") {
  const NoGrad suspended;
  const Embedding table(11, 8, {Random(1), DType::f32});
  const Tensor x = Random(2).normal({3, 8}, 0, 1), bias = Random(3).normal({11}, 0, 1);
  const Tensor want = linear(x, table.weight.value(), bias);
  CHECK(same_bits(table.logits(x, bias), want));
  for (const Quantization to : quantizations()) {
    const Embedding rounded(11, 8, {Random(1), DType::f32});
    quantize({{"weight", rounded.weight}}, to);
    for (const DType of_x : {DType::f32, DType::bf16}) {
      const Tensor y = rounded.logits(raw::convert(x, of_x), bias);
      CHECK(y.dtype() == of_x);
      CHECK(relative_error(y, want) < (to == Quantization::int4 ? 0.2 : 0.02));
    }
    const Tensor rows = rounded(Tensor::from<std::int64_t>({10, 0, 3}, {3}));
    CHECK(rows.dtype() == DType::f32);
    CHECK(relative_error(rows, table(Tensor::from<std::int64_t>({10, 0, 3}, {3}))) <
          (to == Quantization::int4 ? 0.2 : 0.02));
    CHECK_THROWS_AS(rounded(Tensor::from<std::int64_t>({11}, {1})), Error);
  }
}

}  // namespace weft::test
