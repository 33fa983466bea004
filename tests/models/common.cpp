// Tests of properties of every architecture.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "op_table.h"
#include "sweep.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/detail/rebind.h"
#include "weft/layers.h"
#include "weft/model.h"

namespace weft::test {
using namespace detail;

namespace {}  // namespace

TEST_CASE("models: an architecture supports exactly the tasks that it declares") {
  for (const std::string& arch : own_architectures)
    for (Task task : {Task::causal_lm, Task::masked_lm, Task::classifier}) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const auto make = [&] { return make_model({arch, task, 7, 3, R"({"d_model":6,"layers":1,"seq_len":8})"}, {}); };
      const auto& all = architecture(arch).tasks;
      if (std::find(all.begin(), all.end(), task) == all.end()) {
        CHECK_THROWS_AS((void)make(), Error);
        continue;
      }
      const auto model = make();
      CHECK(model->arch() == arch);
      CHECK(model->task() == task);
      CHECK(model->outputs() == (task_source(task) == Source::rows ? 3 : 7));
      if (task == Task::causal_lm) CHECK(model->stream()->next(1).shape() == Shape{7});
      else CHECK_THROWS_AS((void)model->stream(), Error);
    }
}

TEST_CASE("models: dropout applies only if it is requested") {
  const Tensor tokens = random_tokens(2, 5);
  const Random random(3), other(4);
  for (const std::string& arch : own_architectures)
    for (Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const auto make = [&](const std::string& p) {
        return make_model({arch, task, 7, 3, R"({"d_model":6,"layers":2,"seq_len":8,"dropout":)" + p + "}"},
                          {Random(5), DType::f64});
      };
      const auto with = make("0.5"), without = make("0");
      CHECK(max_difference((*with)(tokens), (*without)(tokens)) == 0);
      CHECK(max_difference((*without)(tokens, &random), (*without)(tokens)) == 0);
      CHECK(max_difference((*with)(tokens, &random), (*with)(tokens)) > 1e-3);
      CHECK(max_difference((*with)(tokens, &random), (*with)(tokens, &random)) == 0);
      CHECK(max_difference((*with)(tokens, &random), (*with)(tokens, &other)) > 1e-3);
    }
}

TEST_CASE("models: no two parameters use the same stream of random numbers") {
  for (const std::string& arch : architectures())
    for (Task task : {Task::masked_lm, Task::classifier}) {
      std::vector<std::vector<double>> drawn;  // the first three numbers, divided by the first one
      const std::string config = R"({"d_model":6,"layers":2,"seq_len":8})";
      const auto model = make_model({arch, task, 7, 3, config}, {Random(5), DType::f64});
      for (const auto& [name, parameter] : model->parameters()) {
        const auto x = parameter.value().to_vector<double>();
        if (x.size() < 3 || x[0] == x[1]) continue;  // too few numbers, or all are 0 or 1
        for (const auto& other : drawn) {
          const std::string text = name;
          CAPTURE(text);
          CHECK((std::abs(x[1] / x[0] - other[0]) > 1e-9 || std::abs(x[2] / x[0] - other[1]) > 1e-9));
        }
        drawn.push_back({x[1] / x[0], x[2] / x[0]});
      }
      CHECK(drawn.size() > 5);
    }
}

// Uses f32 and common sizes, for which TNN's products use the FFT.
TEST_CASE("causal language models of default sizes, n = 512: no look-ahead, and the token stream's logits") {
  const std::int64_t n = 512;
  CHECK(toeplitz_form(1, 1, n, 3 * 128, true) == ToeplitzForm::ring);
  for (const std::string arch : {"gmlp", "tnn"}) {
    CAPTURE(arch);
    const auto model = make_model({arch, Task::causal_lm, 7, 0, R"({"seq_len":512})"}, {Random(5), DType::f32});
    for (auto [name, parameter] : model->parameters())  // the initial spatial weights of 0.01 hardly mix tokens
      if (name.find("sgu.weight") != std::string::npos) parameter.assign(Random(6).uniform({n, n}, -0.1, 0.1));
    const Tensor tokens = random_tokens(1, n), full = (*model)(tokens);
    const auto ids = tokens.to_vector<std::int64_t>();
    for (std::int64_t j : {1, 200, 511}) {
      auto changed = ids;
      changed[static_cast<std::size_t>(j)] = (changed[static_cast<std::size_t>(j)] + 1) % 7;
      const Tensor after = (*model)(Tensor::from(changed, {1, n}));
      CHECK(max_difference(slice(full, 1, 0, j), slice(after, 1, 0, j)) <= 1e-5);
      CHECK(max_difference(slice(full, 1, j, n), slice(after, 1, j, n)) > 1e-3);
    }
    const auto stream = model->stream();
    double worst = 0;
    for (std::int64_t i = 0; i < sweep<std::int64_t>(n, 130); ++i) {
      const Tensor logits = stream->next(ids[static_cast<std::size_t>(i)]);
      worst = std::max(worst, max_difference(logits, reshape(slice(full, 1, i, i + 1), {7})));
    }
    CHECK(worst <= 1e-5);
  }
}

namespace {

constexpr struct {
  const char *arch, *config;
} small_streams[] = {
    {"gmlp", R"({"d_model":6,"layers":1,"seq_len":4})"},
    {"tnn", R"({"d_model":6,"layers":1})"},
    {"tnn", R"({"d_model":6,"layers":1,"par_type":2})"},
};

}  // namespace

TEST_CASE("token streams: writing a parameter after the first token makes the next token an Error") {
  for (const auto& [arch, config] : small_streams)
    for (const bool assigns : {true, false}) {
      const auto model = make_model({arch, Task::causal_lm, 7, 0, config}, Init{});
      const NamedParameters parameters = model->parameters();
      for (const auto& [name, parameter] : parameters) {
        const std::string written = name;
        CAPTURE(written);
        Parameter changed = parameter;
        const auto write = [&] {
          if (assigns) changed.assign(scale(changed.value(), 0.5));
          else Tensor(changed).mutable_data<float>()[0] += 1;
        };
        const auto stream = model->stream();
        write();  // before the first token the stream has no state
        const Tensor first = stream->next(3);
        CHECK(same_bits(first, model->stream()->next(3)));
        (void)stream->next(2);
        write();
        CHECK_THROWS_WITH_AS(stream->next(1),
                             "[generate] a parameter was written after this text's first token, so the kept results of "
                             "earlier tokens are no longer valid: make a new stream",
                             Error);
        CHECK_THROWS_AS(stream->next(1), Error);
        CHECK_NOTHROW(model->stream()->next(1));
      }
    }
}

TEST_CASE("token streams: a refused token leaves the text unchanged") {
  for (const auto& [arch, config] : small_streams) {
    const auto model = make_model({arch, Task::causal_lm, 7, 0, config}, Init{});
    const auto stream = model->stream(), other = model->stream();
    for (const std::int64_t token : {3, 1, 4, 1, 5, 2, 6}) {
      CHECK_THROWS_AS(stream->next(7), Error);
      CHECK(same_bits(stream->next(token), other->next(token)));
    }
  }
}

TEST_CASE("Linear: its copies of the weight are updated with the weight") {
  const Linear layer(5, 7, {Random(1), DType::f32});
  const Tensor x = Random(2).normal({40, 5}, 0, 1);
  const auto check = [&] { CHECK(same_bits(layer(x), linear(x, layer.weight, layer.bias))); };
  check();
  Tensor(layer.weight).mutable_data<float>()[3] += 1;  // like an optimizer's step
  check();
  Parameter(layer.weight).assign(Random(3).normal({7, 5}, 0, 1));
  check();
  const Tensor flat = Random(4).normal({70}, 0, 1);
  for (const std::int64_t offset : {0, 35}) {  // two tensors with one storage and one version
    rebind(layer.weight, flat.view({7, 5}, {5, 1}, offset));
    check();
  }
  std::thread other(check);
  check();
  other.join();
  Context baseline;
  baseline.set_isa(available_isas().front());
  const ContextScope scope(baseline);
  check();
  Parameter(layer.weight).assign(Random(5).normal({7, 5}, 0, 1));  // even if the instruction set has not changed
  check();
  const std::size_t before = baseline.memory().use().current;
  check();
  CHECK(baseline.memory().use().current == before);
  {
    Tape tape;
    (void)layer(tape.watch(x));
  }
  CHECK(baseline.memory().use().current < before);  // the packed copy was freed
}

}  // namespace weft::test
