// Tests the contract of an Op: if forward runs again, it gives the recorded bits, and shape() gives their shape.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "op_table.h"
#include "train_support.h"
#include "weft/detail/record_observer.h"

namespace weft::test {
using namespace detail;

namespace {

// While in scope, runs the forward pass of every recorded op twice more, and notes the names of ops with other results.
class Replay {
 public:
  int records() const { return records_; }
  const std::vector<std::string>& different() const { return different_; }

 private:
  void again(Op& op, const Inputs& in, const Tensor& out) {
    ++records_;
    Inputs values;
    for (const Tensor& x : in) values.push_back(x.defined() ? x.detach() : x);
    for (int run = 1; run <= 2; ++run) {
      const Shape shape = op.shape(values);
      if (shape != out.shape() || !same_bits(op.forward(values, shape), out)) different_.push_back(op.name());
    }
  }

  int records_ = 0;
  std::vector<std::string> different_;
  RecordObserver observer_{[this](Op& op, const Inputs& in, const Tensor& out) { again(op, in, out); }};
};

// Returns y and the gradients of all parameters.
std::vector<Tensor> step_of(const SmallTask& small) {
  const Random dropout(5);
  const Batch batch = small.data->training(0, Random(7));
  Tape tape;
  const Tensor logits = (*small.model)(batch.tokens, &dropout);
  const Tensor loss = cross_entropy(logits, batch.target);
  Gradients gradients;
  tape.backward(loss, gradients);
  std::vector<Tensor> all{loss.detach()};
  for (const auto& [name, parameter] : small.model->parameters()) all.push_back(gradients.of(parameter));
  return all;
}

void check_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].defined()) CHECK(same_bits(a[i], b[i]));
}

}  // namespace

TEST_CASE("op table: the forward pass of every record can run again") {
  for (const OpCase& c : all_op_cases()) {
    CAPTURE(c.name);
    std::vector<bool> needs;
    for (const In& in : c.inputs) needs.push_back(in.differentiable);
    std::vector<Tensor> inputs;
    for (const Tensor& x : make_inputs(c)) inputs.push_back(to_single(x));
    const Differentiated once = differentiate(c.run, inputs, needs);
    const Replay replay;
    const Differentiated again = differentiate(c.run, inputs, needs);
    CHECK(replay.records() > 0);
    CHECK(replay.different() == std::vector<std::string>{});
    check_same(again.gradients, once.gradients);
  }
}

TEST_CASE("models: the forward pass of every record can run again") {
  const struct {
    const char* arch;
    Task task;
  } models[] = {{"gmlp", Task::causal_lm}, {"gmlp", Task::masked_lm}, {"gmlp", Task::classifier},
                {"tnn", Task::causal_lm},  {"tnn", Task::masked_lm},  {"tnn", Task::classifier},
                {"fnet", Task::masked_lm}, {"fnet", Task::classifier}};
  for (const auto& model : models) {
    CAPTURE(model.arch);
    CAPTURE(task_name(model.task));
    const SmallTask small = small_task(model.arch, model.task);
    const std::vector<Tensor> once = step_of(small);
    const Replay replay;
    const std::vector<Tensor> again = step_of(small);
    CHECK(replay.records() > 10);
    CHECK(replay.different() == std::vector<std::string>{});
    check_same(again, once);
    small.model->set_recompute(true);
    check_same(step_of(small), once);
  }
}

TEST_CASE("tape: computations inside an operation are not recorded") {
  Tape tape;
  const Tensor x = tape.watch(Random(1).normal({3, 4}, 0, 1));
  const std::int64_t before = tape.records();
  (void)mean(x);  // computes a sum and a quotient
  CHECK(tape.records() == before + 1);
}

// If the record of the product had the gate as an input, the gate would get no gradient.
TEST_CASE("linear: the record of the product has no input that its backward ignores") {
  using Records = std::vector<std::pair<std::string, std::size_t>>;  // name and number of inputs
  const auto recorded = [](Activation act, bool gated, bool residual) {
    Records records;
    const RecordObserver observer(
        [&](Op& op, const Inputs& in, const Tensor&) { records.emplace_back(op.name(), in.size()); });
    Tape tape;
    const auto leaf = [&](const Shape& shape) { return tape.watch(Random(1).normal(shape, 0, 1)); };
    const Epilogue epilogue(act, gated ? leaf({2, 4}) : Tensor(), residual ? leaf({2, 4}) : Tensor());
    (void)linear(leaf({2, 3}), leaf({4, 3}), leaf({4}), epilogue);
    return records;
  };
  CHECK(recorded(Activation::none, false, true) == Records{{"linear", 4}});
  CHECK(recorded(Activation::silu, false, false) == Records{{"linear", 4}, {"activation", 1}});
  CHECK(recorded(Activation::none, true, false) == Records{{"linear", 4}, {"linear", 2}});
  CHECK(recorded(Activation::silu, true, true) == Records{{"linear", 4}, {"linear", 2}, {"add", 2}});
}

TEST_CASE("op replay: a forward pass that gives a different result is detected") {
  struct Counting : Op {  // y = x + the number of earlier runs
    const char* name() const noexcept override { return "test counting"; }
    Shape shape(const Inputs& in) const override { return in[0].shape(); }
    Tensor forward(const Inputs& in, const Shape& shape) override {
      return add(in[0], Tensor::full(shape, static_cast<double>(runs++), in[0].dtype()));
    }
    bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
    void backward(Backward& b) const override { b.add(0, b.gradient()); }
    int runs = 0;
  };
  const Replay replay;
  Tape tape;
  (void)apply_op(Counting(), {tape.watch(Tensor::scalar(1))});
  CHECK(replay.different() == std::vector<std::string>{"test counting", "test counting"});
}

}  // namespace weft::test
