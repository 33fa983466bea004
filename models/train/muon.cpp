// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv 2502.16982). A matrix
// moves along the orthogonal matrix that is nearest to its momentum, so that all directions change equally fast:
//   m = momentum m + (1 - momentum) g;  u = momentum m + (1 - momentum) g (Nesterov);  o ≈ U Vᵀ where u = U S Vᵀ;
//   p = (1 - lr weight_decay) p - 0.2 √max(rows, columns) lr o.
// The factor gives o the root mean square of AdamW's changes (section 2.2 of the second source), so that learning
// rates and weight decays for AdamW are also suitable for Muon. AdamW updates vectors, single rows and columns, embeddings and heads.
#include "train/muon.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "weft/ops.h"

namespace weft::detail {

namespace {

constexpr double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;  // of AdamW
constexpr int iterations = 5;

// The rows of an embedding or a head belong to symbols, and most gradients of an embedding are 0. Muon's authors use
// AdamW for both. The parameters of a TNN's exponentials are numbers of single channels, not a matrix.
bool is_table(const std::string& name) {
  for (const std::string part : {"embedding.", "embeddings.", "head.", "classifier.", "exponentials."})
    if (name.rfind(part, 0) == 0 || name.find("." + part) != name.npos) return true;
  return false;
}

// A single row or column has only one direction, so AdamW updates it.
bool is_matrix(const Shape& shape) {
  return shape.size() >= 2 && shape[0] > 1 && std::any_of(shape.begin() + 1, shape.end(), [](auto n) { return n > 1; });
}

// Returns an approximation of U Vᵀ for x = U S Vᵀ. The singular values of the result are between 0.7 and 1.2. The
// method is the Newton-Schulz iteration with a polynomial of degree 5 in y. Muon's authors chose its coefficients for
// speed. The iteration begins with y = x / ‖x‖, and each step computes y = a y + (b A + c A²) y, where A = y yᵀ.
Tensor orthogonalized(const Tensor& x) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, tiny = 1e-7;
  const bool is_tall = x.size(0) > x.size(1);  // then y = xᵀ, which makes A smaller
  Tensor y = is_tall ? raw::contiguous(transpose(x, 0, 1)) : x;
  y = scale(y, 1 / (l2_norm(reshape(y, {-1})) + tiny));
  for (int i = 0; i < iterations; ++i) {
    const Tensor squares = matmul(y, transpose(y, 0, 1));
    const Tensor factor = add(scale(squares, b), scale(matmul(squares, squares), c));
    y = add(scale(y, a), matmul(factor, y));
  }
  return is_tall ? raw::contiguous(transpose(y, 0, 1)) : y;
}

// p, g and m belong to the same matrix: they are its value, its gradient and its momentum.
void update_matrix(Tensor p, const Tensor& g, Tensor m, const Shape& shape, const UpdateStep& step) {
  const double momentum = step.own[0];
  const Tensor gradient = scale(g, (1 - momentum) * step.grad_scale);
  raw::copy(add(scale(m, momentum), gradient), m);
  const std::int64_t rows = shape[0], columns = p.numel() / rows;
  const Tensor direction = orthogonalized(reshape(add(scale(m, momentum), gradient), {rows, columns}));
  const double rate = 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns))) * step.lr;
  raw::copy(add(scale(p, 1 - step.lr * step.weight_decay), scale(reshape(direction, {-1}), -rate)), p);
}

void update_range(ParameterRange& range, const UpdateStep& step) {
  const NoGrad unrecorded;
  for (const ParameterSet::Entry& entry : range.entries) {
    if (entry.numel == 0) continue;
    const auto part = [&](const Tensor& flat) { return flat.view({entry.numel}, {1}, flat.offset() + entry.offset); };
    const Shape shape = entry.parameter.value().shape();
    if (is_matrix(shape) && !is_table(entry.name)) {
      update_matrix(part(range.values), part(range.gradients), part(range.states[0]), shape, step);
      continue;
    }
    UpdateStep of_adamw = step;
    of_adamw.own = {beta1, beta2, eps};
    of_adamw.decayed = shape.size() >= 2 ? entry.numel : 0;
    Tensor values = part(range.values);
    std::vector<Tensor> states = {part(range.states[0]), part(range.states[1])};
    update("adamw", values, part(range.gradients), states, of_adamw);
  }
}

}  // namespace

OptimizerKind muon() {
  OptimizerKind kind;
  kind.name = "muon";
  kind.own = {{"momentum", 0.95, 0, 1, "decay of the mean gradient of matrices"}};
  kind.weight_decay = 0.1;
  kind.states = 2;
  kind.update = update_range;
  return kind;
}

}  // namespace weft::detail
