// Tests of models that recompute their layers in backward. They must give the same bits with less memory, for every
// architecture.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "op_table.h"
#include "random_parameters.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

// Special settings of some architectures, in addition to those of small_task.
constexpr struct {
  const char* arch;
  Task task;
  const char* config;
} special_models[] = {
    {"gmlp", Task::causal_lm, R"({"d_model":8,"d_ffn":16,"layers":3,"seq_len":12,"tied":true,"dropout":0.2})"},
    {"tnn", Task::causal_lm, R"({"d_model":8,"layers":3,"rpe_dim":4,"tied":false,"normalize":true,"heads":2})"},
    {"tnn", Task::masked_lm,
     R"({"d_model":8,"layers":2,"rpe_dim":4,"use_decay":false,"use_multi_decay":true,"prenorm":false,"dropout":0.2})"},
    {"fnet", Task::masked_lm, R"({"d_model":8,"layers":3,"seq_len":12,"norm":"pre","tied":false,"dropout":0.2})"},
    {"fnet", Task::classifier,
     R"({"d_model":8,"layers":2,"seq_len":12,"head":"last","embeddings":"sinusoidal","dropout":0.2})"},
    {"fnet", Task::classifier, R"({"d_model":8,"layers":2,"seq_len":12,"head":"mean","dropout":0.2})"},
};

constexpr std::int64_t symbol_count = 7;

// Returns the loss and all gradients.
std::vector<Tensor> gradients_of(const Model& model, std::int64_t length) {
  const Random dropout(9);
  Tape tape;
  const Tensor logits = model(random_tensor(indices({3, length}, symbol_count), 3), &dropout);
  const Shape rows(logits.shape().begin(), logits.shape().end() - 1);
  const Tensor loss = cross_entropy(logits, random_tensor(indices(rows, logits.size(-1)), 4));
  Gradients gradients;
  tape.backward(loss, gradients);
  std::vector<Tensor> all{loss.detach()};
  for (const auto& [name, parameter] : model.parameters()) all.push_back(gradients.of(parameter));
  return all;
}

bool all_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_bits);
}

void check_gradients(Model& model, std::int64_t length) {
  randomize(model.parameters(), 0.5);
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    CAPTURE(precision_name(precision));
    model.set_precision(precision);
    model.set_recompute(false);
    const std::vector<Tensor> expected = gradients_of(model, length);
    model.set_recompute(true);
    for (const int threads : {1, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      CHECK(all_same(gradients_of(model, length), expected));
    }
  }
}

// Returns the additional bytes that a forward and a backward pass need.
std::size_t memory_of(const std::string& arch, Task task, std::int64_t layers, bool again) {
  constexpr std::int64_t length = 256, d = 32;
  Context context;
  const ContextScope scope(context);
  const std::string config = R"({"dropout":0.1,"d_model":)" + std::to_string(d) + R"(,"seq_len":)" +
                             std::to_string(length) + R"(,"layers":)" + std::to_string(layers) + "}";
  const auto model = make_model({arch, task, symbol_count, 3, config}, {Random(3), DType::f32});
  model->set_recompute(again);
  ParameterSet set(model->parameters());
  const std::size_t before = context.memory().use().current;
  context.memory().reset_peak();
  const Random dropout(9);
  Tape tape;
  const Tensor logits = (*model)(random_tensor(indices({4, length}, symbol_count), 3), &dropout);
  const Shape rows(logits.shape().begin(), logits.shape().end() - 1);
  tape.backward(cross_entropy(logits, random_tensor(indices(rows, logits.size(-1)), 4)), set);
  return context.memory().use().peak - before;
}

}  // namespace

TEST_CASE("recomputing models: gradients are equal bit by bit, in f32 and bf16, for any number of threads") {
  for (const std::string& arch : own_architectures)
    for (const Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const auto model = small_model(arch, task, symbol_count, 3, {});
      check_gradients(*model, 16);
    }
  for (const auto& each : special_models) {
    const std::string config = each.config;
    CAPTURE(config);
    const auto model = make_model({each.arch, each.task, symbol_count, 3, config}, {Random(5), DType::f32});
    check_gradients(*model, 11);
  }
}

TEST_CASE("recomputing models: micro-batches, stopped and resumed with and without recomputing, give the same bits") {
  const TemporaryFolder folder;
  for (const std::string& arch : own_architectures)
    for (const Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const SmallTask kept = small_task(arch, task), again = small_task(arch, task), resumed = small_task(arch, task);
      again.model->set_recompute(true);
      Trainer first(*kept.model, *kept.data, small_options(4, 3)),
          second(*again.model, *again.data, small_options(4, 3)),
          third(*resumed.model, *resumed.data, small_options(4, 3));
      for (int step = 0; step < 4; ++step) {
        CHECK(first.step() == second.step());
        if (step == 1) second.save_state(folder / "state");
      }
      third.load_state(folder / "state");
      while (third.steps_done() < 4) (void)third.step();
      const NamedParameters a = kept.model->parameters(), b = again.model->parameters(),
                            c = resumed.model->parameters();
      for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(a[i].first);
        CHECK(same_bits(a[i].second.value(), b[i].second.value()));
        CHECK(same_bits(a[i].second.value(), c[i].second.value()));
      }
    }
}

TEST_CASE("recomputing models: each additional layer needs only the memory of its input") {
  constexpr std::size_t input = 4 * 256 * 32 * sizeof(float);
  for (const std::string& arch : own_architectures)
    for (const Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const std::size_t one = memory_of(arch, task, 1, false), two = memory_of(arch, task, 2, false);
      const std::size_t of_a_layer = two - one;
      CHECK(of_a_layer > 4 * input);
      for (const std::int64_t layers : {2, 6, 12}) {
        if (layers > sweep(12, 2)) break;
        CAPTURE(layers);
        const std::size_t most = one + static_cast<std::size_t>(layers) * input * 11 / 10;
        CHECK(memory_of(arch, task, layers, true) <= most);
      }
    }
}

TEST_CASE("recomputing models: results that are not differentiated are computed once") {
  const auto model = small_model("tnn", Task::causal_lm, symbol_count, 0, {});
  const Tensor tokens = random_tensor(indices({2, 9}, symbol_count), 3), expected = (*model)(tokens);
  model->set_recompute(true);
  CHECK(same_bits((*model)(tokens), expected));
  CHECK(model->recomputes());
}

}  // namespace weft::test
