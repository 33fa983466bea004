// A TNN language model, token by token.
#include <algorithm>

#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace {

// One layer's past: y_i = sum_(j <= i) t_(i-j) v_j. Rows beyond the tokens seen are not used.
class History {
 public:
  explicit History(const Gtu& gtu) : gtu_(gtu) {}

  // v (1, 1, d1) of token i: y (1, 1, d1).
  Tensor append(const Tensor& v, std::int64_t i) {
    if (i == capacity_) grow(v.dtype());
    Tensor row = slice(past_, 0, i, i + 1);
    raw::copy(reshape(v, row.shape()), row);
    const Tensor t = slice(reversed_, 0, capacity_ - 1 - i, capacity_);  // t_i … t_0, beside v_0 … v_i
    Tensor y = sum(mul(t, slice(past_, 0, 0, i + 1)), {0});
    if (gtu_.toep().options().normalize) y = div(y, sum(t, {0}));
    return reshape(y, v.shape());
  }

 private:
  void grow(DType dtype) {
    const std::int64_t capacity = std::max<std::int64_t>(64, 2 * capacity_);
    Tensor longer = Tensor::empty({capacity, gtu_.d1()}, dtype);
    Tensor kept = slice(longer, 0, 0, capacity_);
    if (capacity_ > 0) raw::copy(past_, kept);
    reversed_ = flip(gtu_.toep().coefficients(capacity), 0);
    past_ = longer;
    capacity_ = capacity;
  }

  const Gtu& gtu_;
  std::int64_t capacity_ = 0;
  Tensor past_;      // v (capacity, d1)
  Tensor reversed_;  // t_(capacity-1) … t_0 (capacity, d1)
};

}  // namespace

// par_type 1: coefficients don't depend on the length.
class Tnn::Stream : public TokenStream {
 public:
  explicit Stream(const Tnn& model) : model_(model), parameters_(model.parameters()) {
    for (const TnnLayer& layer : model.layers_) histories_.emplace_back(layer.token_mixer());
  }

  Tensor next(std::int64_t token) override {
    return guard_memory("generate", [&] {
      NoGrad suspended;
      parameters_.check();
      Tensor x = model_.embed(Tensor::from<std::int64_t>({token}, {1, 1}));  // (1, 1, d_model)
      for (std::size_t layer = 0; layer < histories_.size(); ++layer)
        x = model_.layers_[layer](x, nullptr, [&](const Tensor& v) { return histories_[layer].append(v, tokens_); });
      Tensor logits = reshape(model_.logits(x), {model_.outputs_});
      ++tokens_;
      return logits;
    });
  }

 private:
  const Tnn& model_;
  SteadyParameters parameters_;
  std::vector<History> histories_;
  std::int64_t tokens_ = 0;
};

std::unique_ptr<TokenStream> Tnn::stream() const {
  if (task_ != Task::causal_lm || config_.par_type != 1) return Model::stream();
  return std::make_unique<Stream>(*this);
}

}  // namespace weft
