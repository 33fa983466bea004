// Adafactor (Shazeer and Stern 2018, arXiv 1804.04235, algorithms 4 and 5, without momentum), as in PyTorch. The mean
// squares of a matrix's gradients are estimated from the mean squares of its rows and columns:
//   r = r + (1 - b) (mean of g² over columns - r);  c = c + (1 - b) (mean of g² over rows - c);  1 - b = step^-power;
//   v_ij = r_i c_j / mean(r);  u = g / √max(v, eps²);  u = u / max(1, rms(u) / threshold);
//   p = (1 - lr weight_decay) p - max(least, rms(p)) min(lr, 1/√step) u.
// For vectors, and for matrices with a side of 1, v = v + (1 - b) (g² - v). eps is the machine epsilon of the dtype.
#include "train/adafactor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/ops.h"
#include "weft/tape.h"

namespace weft::detail {

namespace {

double rms(const Tensor& x) { return norm(x).item() / std::sqrt(static_cast<double>(x.numel())); }

double epsilon(DType dtype) {
  return dtype == DType::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

// state = state + share (x - state)
Tensor averaged(Tensor state, const Tensor& x, double share) {
  raw::copy(add(scale(state, 1 - share), scale(x, share)), state);
  return state;
}

// Returns the estimates of the mean squares, in g's shape. The state of a matrix begins with the mean squares of its
// rows, followed by those of its columns.
Tensor mean_squares(const Tensor& g, const Tensor& state, double share) {
  const Tensor squares = square(g);
  if (g.rank() < 2) return averaged(state, squares, share);
  const std::int64_t rows = g.size(0), columns = g.size(1);
  const Tensor of_rows = averaged(state.view({rows}, {1}, state.offset()), mean(squares, {1}), share);
  const Tensor of_columns = averaged(state.view({columns}, {1}, state.offset() + rows), mean(squares, {0}), share);
  const double all = std::max(mean(of_rows).item(), epsilon(g.dtype()));
  return mul(reshape(of_rows, {rows, 1}), scale(of_columns, 1 / all));
}

// p, gradient and state belong to the same parameter: they are its value, its gradient and its state.
void update_parameter(Tensor p, const Tensor& gradient, const Tensor& state, const Shape& shape,
                      const UpdateStep& step) {
  const double power = step.own[0], threshold = step.own[1], least = step.own[2];
  const auto number = static_cast<double>(step.step);
  const std::int64_t rows = shape.empty() ? 1 : shape[0], columns = p.numel() / rows;
  const bool is_matrix = shape.size() >= 2 && rows > 1 && columns > 1;
  Tensor g = scale(gradient, step.grad_scale);
  if (is_matrix) g = reshape(g, {rows, columns});
  const double eps = epsilon(p.dtype());
  const Tensor v = mean_squares(g, state, std::pow(number, -power));
  const Tensor u = reshape(mul(g, rsqrt(clamp(v, eps * eps, std::numeric_limits<double>::infinity()))), {-1});
  const double rate =
      std::max(least, rms(p)) * std::min(step.lr, 1 / std::sqrt(number)) / std::max(1.0, rms(u) / threshold);
  const double decay = shape.size() >= 2 ? step.lr * step.weight_decay : 0;
  raw::copy(add(scale(p, 1 - decay), scale(u, -rate)), p);
}

void update_parameters(ParameterRange& range, const UpdateStep& step) {
  const NoGrad unrecorded;
  for (const ParameterSet::Entry& entry : range.entries) {
    if (entry.numel == 0) continue;
    const auto part = [&](const Tensor& flat) { return flat.view({entry.numel}, {1}, flat.offset() + entry.offset); };
    update_parameter(part(range.values), part(range.gradients), part(range.states[0]), entry.parameter.value().shape(),
                     step);
  }
}

}  // namespace

OptimizerKind adafactor() {
  OptimizerKind kind;
  kind.name = "adafactor";
  kind.own = {{"decay-power", 0.8, 0, 1,
               "each step moves the mean squares by the fraction step^-decay-power toward the new squares"},
              {"threshold", 1, 1e-9, std::numeric_limits<double>::infinity(),
               "maximum root mean square of an update, relative to the learning rate"},
              {"least-rms", 1e-3, 0, std::numeric_limits<double>::infinity(),
               "lower bound of the factor, a parameter's root mean square, that multiplies its learning rate"}};
  kind.rate = 20;
  kind.states = 1;
  kind.update = update_parameters;
  return kind;
}

}  // namespace weft::detail
