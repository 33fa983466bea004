// Rounding with error feedback. Let H = Σ x xᵀ + damping = L Lᵀ with a lower triangular L. For a row w of the weight,
// rounded to q, let d = w - q. Then
//   Σ (d · x)² ≈ dᵀ H d = ‖Lᵀ d‖² = Σ_i (L_ii d_i + Σ_{j>i} L_ji d_j)²
// The elements are rounded from the last to the first. When element i is rounded, the d_j of all j > i are known, and
// term i is smallest if q_i is nearest to the target
//   t_i = w_i + Σ_{j>i} (L_ji / L_ii) d_j
// This is Babai's nearest plane algorithm. It gives the results of GPTQ (Frantar et al., 2022), which rounds the
// elements in the other order (J. Chen et al., The geometry of LLM quantization, 2025). A group's scale is computed from
// its targets, which then contain the feedback of all later groups.
#include "dense/int4_feedback.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/common.h"
#include "dense/gemm.h"
#include "weft/context.h"

namespace weft::detail {
namespace {

using std::int64_t;

const char* const who = "QuantizedWeight::fitted";

// The damping is this part of the mean of H's diagonal. Larger: the feedback ignores more of the inputs' correlations.
// Smaller: it follows the noise of few inputs. The value is GPTQ's.
constexpr double damping = 0.01;

double dot(int64_t n, const double* a, const double* b) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int s = 0; s < 4; ++s) sums[s] += a[i + s] * b[i + s];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Replaces the lower triangle of H (n, n) by L.
void factorize(int64_t n, double* h) {
  for (int64_t j = 0; j < n; ++j) {
    const double* pivot_row = h + j * n;
    const double pivot = h[j * n + j] - dot(j, pivot_row, pivot_row);
    if (!(pivot > 0)) fail(who, "expected moments Σ x xᵀ, which have no negative eigenvalue");
    h[j * n + j] = std::sqrt(pivot);
    const int64_t grain = task_elements / (j + 1) + 1;
    Context::current().parallel_for(n - j - 1, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = j + 1 + begin; i < j + 1 + end; ++i)
        h[i * n + j] = (h[i * n + j] - dot(j, h + i * n, pivot_row)) / h[j * n + j];
    });
  }
}

// Returns the feedback factors (n, n): element (j, i) is L_ji / L_ii for i < j. Others are not used.
Tensor feedback_factors(const Tensor& moments) {
  const int64_t n = moments.size(0);
  const float* from = moments.data<float>();
  Tensor h = Tensor::empty({n, n}, DType::f64), factors = Tensor::empty({n, n}, DType::f32);
  auto* l = h.mutable_data<double>();
  auto* to = factors.mutable_data<float>();
  double trace = 0;
  for (int64_t i = 0; i < n * n; ++i) l[i] = static_cast<double>(from[i]);
  for (int64_t i = 0; i < n; ++i) trace += l[i * n + i];
  if (!std::isfinite(trace)) fail(who, "expected finite moments");
  // Without any input, all elements count equally.
  const double added = trace > 0 ? damping * trace / static_cast<double>(n) : 1;
  for (int64_t i = 0; i < n; ++i) l[i * n + i] += added;
  factorize(n, l);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < j; ++i) to[j * n + i] = static_cast<float>(l[j * n + i] / l[i * n + i]);
  return factors;
}

class Feedback {
 public:
  Feedback(const Tensor& weight, const Tensor& moments)
      : rows_(weight.size(0)),
        n_(weight.size(1)),
        weight_(weight),
        factors_(feedback_factors(moments)),
        targets_(Tensor::empty({rows_, n_})),
        errors_(Tensor::empty({rows_, int4_group})),
        values_(Tensor::empty({rows_, n_}, DType::i8)),
        scales_(Tensor::empty({rows_, int4_groups(n_)}, DType::bf16)) {
    raw::copy(weight, targets_);
  }

  Int4Weight rounded() {
    for (int64_t g = int4_groups(n_) - 1; g >= 0; --g) {
      const int64_t begin = g * int4_group, end = std::min(n_, begin + int4_group);
      const int64_t grain = std::max<int64_t>(1, task_elements / (int4_group * int4_group));
      Context::current().parallel_for(rows_, grain, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) round_group(i, begin, end);
      });
      add_feedback(begin, end);
    }
    return Int4Weight::of(values_, scales_);
  }

 private:
  // Rounds elements begin … end of row i from the last to the first.
  void round_group(int64_t i, int64_t begin, int64_t end) {
    float* target = targets_.mutable_data<float>() + i * n_;
    const float* w = weight_.data<float>() + i * n_;
    const bfloat16 stored = int4_scale(end - begin, target + begin);
    scales_.mutable_data<bfloat16>()[i * int4_groups(n_) + begin / int4_group] = stored;
    const auto scale = static_cast<float>(stored);
    for (int64_t j = end - 1; j >= begin; --j) {
      const int value = int4_value(target[j], scale);
      const float error = w[j] - scale * static_cast<float>(value), *factors = factors_.data<float>() + j * n_;
      values_.mutable_data<std::int8_t>()[i * n_ + j] = static_cast<std::int8_t>(value);
      errors_.mutable_data<float>()[i * int4_group + j - begin] = error;
      for (int64_t l = begin; l < j; ++l) target[l] += error * factors[l];
    }
  }

  // Adds the feedback of elements begin … end to the targets of all earlier groups.
  void add_feedback(int64_t begin, int64_t end) {
    if (begin == 0) return;
    GemmProblem<float> product{rows_,
                               begin,
                               end - begin,
                               {errors_.data<float>(), int4_group, 1},
                               {factors_.data<float>() + begin * n_, n_, 1},
                               {targets_.mutable_data<float>(), n_, 1}};
    product.accumulate = true;
    gemm(product);
  }

  int64_t rows_, n_;
  Tensor weight_, factors_, targets_, errors_, values_, scales_;
};

}  // namespace

Int4Weight rounded_with_feedback(const Tensor& weight, const Tensor& moments) {
  check_int4_range(weight);
  return Feedback(weight, moments).rounded();
}

}  // namespace weft::detail
