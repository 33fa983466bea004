// Tests of training steps and of models' caches: memory of equal steps, and inference between changes to the
// parameters.
#include <doctest/doctest.h>

#include "op_table.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// A model with the task's data and an optimizer.
struct Training {
  SmallTask task;
  Optimizer optimizer;
  Batch batch;
  std::int64_t steps = 0;

  Training(const std::string& arch, Task kind)
      : task(small_task(arch, kind)),
        optimizer(task.model->parameters(), {}),
        batch(task.data->training(0, Random(1))) {}

  // Runs forward and backward with dropout, and AdamW's update.
  void step() {
    const Random dropout(9, static_cast<std::uint64_t>(steps));
    {
      Tape tape;
      const Tensor loss = task.data->loss((*task.model)(batch.tokens, &dropout), batch);
      optimizer.parameters().zero_gradients();
      tape.backward(loss, optimizer.parameters());
    }
    optimizer.step(++steps, 1e-2);
  }
};

// Returns the results of a new model with these parameters.
Tensor of_fresh_model(const std::string& arch, Task kind, const NamedParameters& parameters, const Tensor& tokens) {
  const SmallTask fresh = small_task(arch, kind);
  NamedParameters own = fresh.model->parameters();
  for (std::size_t i = 0; i < own.size(); ++i) own[i].second.assign(parameters[i].second.value());
  return (*fresh.model)(tokens);
}

template <class F>
void for_every_model(F f) {
  for (const std::string& arch : own_architectures)
    for (Task kind : {usual_task(arch), Task::classifier}) {
      CAPTURE(arch);
      CAPTURE(task_name(kind));
      f(arch, kind);
    }
}

}  // namespace

TEST_CASE("models: after the first training step, steps of the same shape allocate no memory from the system") {
  for_every_model([](const std::string& arch, Task kind) {
    for (int threads : {1, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      Training training(arch, kind);
      training.step();
      const std::size_t after_first = context.memory().use().system_allocations;
      for (int i = 0; i < 5; ++i) training.step();
      CHECK(context.memory().use().system_allocations == after_first);
      CHECK(after_first > 0);
    }
  });
}

TEST_CASE("models: forward, step, forward, load, forward: no cache is stale") {
  for_every_model([](const std::string& arch, Task kind) {
    Training training(arch, kind);
    const Model& model = *training.task.model;
    const Tensor& tokens = training.batch.tokens;
    const Tensor before = model(tokens);
    CHECK(same_bits(model(tokens), before));
    for (int i = 0; i < 2; ++i) {
      training.step();
      const Tensor after = model(tokens);
      CHECK(max_difference(after, before) > 1e-3);
      CHECK(same_bits(after, of_fresh_model(arch, kind, model.parameters(), tokens)));
    }
    std::uint64_t seed = 0;
    for (auto [name, parameter] : model.parameters())
      parameter.assign(to_single(random_tensor({parameter.value().shape(), -0.3, 0.3}, ++seed)));
    const Tensor loaded = model(tokens);
    CHECK(max_difference(loaded, before) > 1e-3);
    CHECK(same_bits(loaded, of_fresh_model(arch, kind, model.parameters(), tokens)));
  });
}

}  // namespace weft::test
