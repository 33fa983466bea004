#include "base/kept_toeplitz.h"

#include "base/sequence.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::detail {
namespace {

// T·1 (1, h, n, dim) for t (h, m, dim)
Tensor row_sums(const Tensor& t, std::int64_t n, bool causal) {
  return toeplitz_product(Tensor::full({1, t.size(0), n, t.size(2)}, 1, t.dtype()), t, causal);
}

Tensor quotient(const Tensor& y, const Tensor& sums) { return in_dtype(div(widened(y), sums), y.dtype()); }

}  // namespace

Tensor toeplitz_mix(const Tensor& x, const Tensor& t, bool causal, bool normalize) {
  const Tensor y = toeplitz_product(x, t, causal);  // (b, h, n, dim)
  return normalize ? quotient(y, row_sums(t, x.size(2), causal)) : y;
}

struct KeptToeplitz::Latest {
  std::int64_t b, n;
  Isa isa;
  std::vector<std::uint64_t> versions;
  ToeplitzCoefficients t;
  Tensor sums;  // the divisors for normalize

  bool fits(const Tensor& x, Isa now, const std::vector<std::uint64_t>& latest) const {
    return b == x.size(0) && n == x.size(2) && isa == now && versions == latest;
  }
};

Tensor KeptToeplitz::mix(const Tensor& x, const std::function<Tensor()>& make, bool causal, bool normalize,
                         const std::vector<std::uint64_t>& versions) {
  const std::int64_t b = x.size(0), n = x.size(2);
  const Isa isa = Context::current().isa();
  std::shared_ptr<const Latest> kept;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (latest_ && latest_->fits(x, isa, versions)) kept = latest_;
  }
  if (!kept) {
    const Tensor t = make();
    const ToeplitzCoefficients coefficients(t, causal, b);
    kept = std::make_shared<const Latest>(
        Latest{b, n, isa, versions, coefficients, normalize ? row_sums(t, n, causal) : Tensor()});
    const std::lock_guard<std::mutex> lock(mutex_);
    latest_ = kept;
  }
  const Tensor y = toeplitz_product(x, kept->t);
  return normalize ? quotient(y, kept->sums) : y;
}

}  // namespace weft::detail
