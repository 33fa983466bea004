// einsum: sums of products of any number of operands, computed by contracting two operands at a time.
#include "dense/einsum.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "weft/context.h"
#include "weft/dense.h"

namespace weft {
using namespace detail;

namespace {

// The einsum plans of a Context. The key is the equation and the shapes.
class EinsumPlans {
 public:
  std::shared_ptr<const EinsumPlan> find(const std::string& equation, const std::vector<Shape>& shapes) {
    std::string key;
    for (const Shape& shape : shapes) key += to_string(shape);
    key += '|' + equation;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto found = plans_.find(key);
      if (found != plans_.end()) return found->second;
    }
    auto plan = std::make_shared<const EinsumPlan>(plan_einsum(equation, shapes));
    std::lock_guard<std::mutex> lock(mutex_);
    if (plans_.size() >= most_plans) plans_.clear();
    plans_.emplace(key, plan);
    return plan;
  }

 private:
  // The maximum number of plans. Plans are small, and making one takes as long as a small product. Larger: more memory.
  // Smaller: programs with many equations recreate plans. bench: bench/operations/einsum_compare
  static constexpr std::size_t most_plans = 1024;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const EinsumPlan>> plans_;
};

std::shared_ptr<const EinsumPlan> plan_of(const std::string& equation, const Inputs& in) {
  constexpr const char* op = "einsum";
  std::vector<Shape> shapes;
  for (const Tensor& x : in) {
    check_same_dtype(op, in[0], x);
    if (!is_floating(x.dtype()) && !is_complex(x.dtype()))
      fail(op, "expected real or complex operands, got " + describe(x));
    shapes.push_back(x.shape());
  }
  return Context::current().slot<EinsumPlans>().find(equation, shapes);
}

// Returns x's diagonal over the axes that share a label. The result has one axis for each label in `once`.
Tensor diagonal(const Tensor& x, const Labels& axes, const Labels& once) {
  if (axes.size() == once.size()) return x;
  Shape shape(once.size());
  Strides strides(once.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::size_t>(std::find(once.begin(), once.end(), axes[i]) - once.begin());
    shape[at] = x.shape()[i];
    strides[at] += x.strides()[i];
  }
  return x.view(shape, strides, x.offset());
}

// y[output] = Σ over the other indices of Π_i x_i[indices of x_i].
// dx_i is the same sum with dy in place of x_i and conj(x_j) for the others. It is constant along indices that only x_i
// has, and zero off the diagonal of repeated indices. Backward walks the tree of two-operand products, whose
// intermediate results were saved.
struct EinsumOp : Op {
  std::shared_ptr<const EinsumPlan> plan;  // the plan for the operands' shapes
  std::vector<Tensor> results;             // the results of all steps except the last, if recorded

  explicit EinsumOp(std::shared_ptr<const EinsumPlan> p) : plan(std::move(p)) {}
  const char* name() const noexcept override { return "einsum"; }
  Shape shape(const Inputs&) const override { return plan->shape; }

  Labeled operand(std::size_t i, const Tensor& x) const {
    return {diagonal(x, plan->operands[i], plan->labels[i]), plan->labels[i]};
  }

  Tensor forward(const Inputs& in, const Shape&) override {
    if (in.size() == 1) return sum_to_labels(operand(0, in[0]), plan->output);
    std::vector<Labeled> nodes;
    results.clear();
    for (std::size_t i = 0; i < in.size(); ++i) nodes.push_back(operand(i, in[i]));
    for (const EinsumStep& step : plan->steps) {
      Labeled &left = nodes[step.left], &right = nodes[step.right];
      nodes.push_back({contract(left, right, step.labels), step.labels});
      if (recording && nodes.size() < in.size() + plan->steps.size()) results.push_back(nodes.back().x);
      nodes[step.left] = nodes[step.right] = {};
    }
    return nodes.back().x;
  }

  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override {
    for (std::size_t j = 0; j < needs.size(); ++j)
      if (j != i && needs[j]) return true;
    return false;
  }

  void add_to_operand(Backward& b, std::size_t i, const Tensor& g) const {
    if (plan->operands[i].size() == plan->labels[i].size()) return b.add(i, g);
    Tensor whole = Tensor::zeros(b.input_shape(i), g.dtype());
    Tensor part = diagonal(whole, plan->operands[i], plan->labels[i]);
    raw::copy(g, part);
    b.add(i, whole);
  }

  // Returns the shape of operand i's diagonal.
  Shape diagonal_shape(const Backward& b, std::size_t i) const {
    Shape shape;
    const Labels& axes = plan->operands[i];
    for (int label : plan->labels[i]) {
      const auto axis = std::find(axes.begin(), axes.end(), label) - axes.begin();
      shape.push_back(b.input_shape(i)[static_cast<std::size_t>(axis)]);
    }
    return shape;
  }

  void backward(Backward& b) const override {
    const std::size_t count = plan->operands.size();
    std::vector<Tensor> gradients(plan->labels.size());
    gradients.back() = b.gradient();
    if (count == 1) {
      const Labeled dy{gradients.back(), plan->output};
      return add_to_operand(b, 0, spread(dy, plan->labels[0], diagonal_shape(b, 0)));
    }
    std::vector<bool> needs;
    for (std::size_t i = 0; i < count; ++i) needs.push_back(b.needs(i));
    for (const EinsumStep& step : plan->steps) needs.push_back(needs[step.left] || needs[step.right]);
    for (std::size_t s = plan->steps.size(); s-- > 0;) {
      const EinsumStep& step = plan->steps[s];
      const Labeled dy{std::move(gradients[count + s]), step.labels};
      for (const auto& [node, other] : {std::pair{step.left, step.right}, std::pair{step.right, step.left}}) {
        if (!needs[node]) continue;
        const Labeled factor =
            other < count ? operand(other, b.input(other)) : Labeled{results[other - count], plan->labels[other]};
        const Shape shape = node < count ? diagonal_shape(b, node) : results[node - count].shape();
        const Tensor g = contract_gradient(dy, factor, plan->labels[node], shape);
        if (node < count) add_to_operand(b, node, g);
        else gradients[node] = g;
      }
    }
  }
};

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  return run_op("einsum", [&] { return apply_op(EinsumOp(plan_of(equation, operands)), operands); });
}

}  // namespace weft
