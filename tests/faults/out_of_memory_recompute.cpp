// Memory runs out while a model recomputes its layers.
#include <doctest/doctest.h>

#include "op_table.h"
#include "running_out.h"
#include "train_support.h"

namespace weft::test {

TEST_CASE("recomputing models: out of memory is an Error, and the step can be retried") {
  const SmallTask small = small_task("tnn", Task::causal_lm), reference = small_task("tnn", Task::causal_lm);
  small.model->set_recompute(true);
  Trainer trainer(*small.model, *small.data, small_options(2, 3)),
      untroubled(*reference.model, *reference.data, small_options(2, 3));
  const NamedParameters parameters = small.model->parameters(), others = reference.model->parameters();
  const std::int64_t count = allocations_of([&] { (void)untroubled.step(); });
  std::int64_t failed = 0;
  for (const std::int64_t k : chosen(count, 100)) {
    if (!runs_out([&] { (void)trainer.step(); }, k)) break;
    ++failed;
  }
  CHECK(failed > 20);
  while (trainer.steps_done() < 2) (void)trainer.step();
  while (untroubled.steps_done() < 2) (void)untroubled.step();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    CHECK(same_bits(parameters[i].second.value(), others[i].second.value()));
}

}  // namespace weft::test
