// A gMLP language model, token by token.
#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"
#include "weft/gmlp.h"

namespace weft {
using namespace detail;

namespace {

// One block's past: v = norm(z2) of the window's tokens. Rows from the window's end on are not used.
class History {
 public:
  History(const SpatialGatingUnit& unit, std::int64_t d)
      : unit_(unit), past_(Tensor::zeros({unit.seq_len, d}, unit.weight.value().dtype())) {}

  // z1, v (1, 1, d) of token i: z1_i ⊙ (sum_(j <= i) W[i,j] v_j + b_i), (1, 1, d).
  Tensor append(const Tensor& z1, const Tensor& v, std::int64_t i) {
    Tensor row = slice(past_, 0, i, i + 1);
    raw::copy(reshape(v, row.shape()), row);
    const Tensor w = slice(slice(unit_.weight, 0, i, i + 1), 1, 0, i + 1);  // (1, i+1)
    const Tensor mixed = matmul(w, slice(past_, 0, 0, i + 1));              // (1, d)
    return mul(z1, reshape(add(mixed, slice(unit_.bias, 0, i, i + 1)), z1.shape()));
  }

 private:
  const SpatialGatingUnit& unit_;
  Tensor past_;  // v (seq_len, d)
};

}  // namespace

// A full window slides by half: its newer half is read again from position 0.
class Gmlp::Stream : public TokenStream {
 public:
  explicit Stream(const Gmlp& model) : model_(model), parameters_(model.parameters()) {
    for (const GmlpBlock& block : model.blocks_) histories_.emplace_back(block.sgu, model.config_.d_ffn / 2);
  }

  Tensor next(std::int64_t token) override {
    return guard_memory("generate", [&] {
      NoGrad suspended;
      parameters_.check();
      if (static_cast<std::int64_t>(window_.size()) == model_.config_.seq_len) slide();
      return read(token);
    });
  }

 private:
  void slide() {
    const std::vector<std::int64_t> whole = window_;
    window_.clear();
    try {
      for (std::size_t i = (whole.size() + 1) / 2; i < whole.size(); ++i) (void)read(whole[i]);
    } catch (...) {
      window_ = whole;  // to slide again
      throw;
    }
  }

  // The forward pass of the window's last token.
  Tensor read(std::int64_t token) {
    const auto i = static_cast<std::int64_t>(window_.size());
    Tensor x = model_.embed(Tensor::from<std::int64_t>({token}, {1, 1}), i);  // (1, 1, d_model)
    for (std::size_t layer = 0; layer < histories_.size(); ++layer)
      x = model_.blocks_[layer](x, {}, nullptr,
                                [&](const Tensor& z1, const Tensor& v) { return histories_[layer].append(z1, v, i); });
    Tensor logits = reshape(model_.head(x), {model_.outputs_});
    window_.push_back(token);
    return logits;
  }

  const Gmlp& model_;
  SteadyParameters parameters_;
  std::vector<std::int64_t> window_;
  std::vector<History> histories_;
};

std::unique_ptr<TokenStream> Gmlp::stream() const {
  if (task_ != Task::causal_lm) return Model::stream();
  return std::make_unique<Stream>(*this);
}

}  // namespace weft
