#include "weft/model.h"

#include "weft/ops.h"

namespace weft {
namespace {

// A forward pass over the latest tokens, as many as the model takes.
class RepeatedPasses : public TokenStream {
 public:
  explicit RepeatedPasses(const Model& model) : model_(model) {}

  Tensor next(std::int64_t token) override {
    const NoGrad suspended;
    const auto longest = static_cast<std::size_t>(model_.max_length());
    if (longest > 0 && tokens_.size() == longest) tokens_.erase(tokens_.begin());
    tokens_.push_back(token);
    const auto n = static_cast<std::int64_t>(tokens_.size());
    const Tensor logits = model_(Tensor::from(tokens_, {1, n}));             // (1, n, vocabulary)
    return reshape(slice(logits, 1, n - 1, n), {model_.outputs()});
  }

 private:
  const Model& model_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace

NamedParameters Model::parameters() const {
  NamedParameters all;
  collect("", all);
  return all;
}

std::unique_ptr<TokenStream> Model::stream() const {
  if (task() != Task::causal_lm)
    throw Error(std::string("[generate] a ") + arch() + " " + task_name(task()) +
                " can't continue a text: that takes a causal language model");
  return std::make_unique<RepeatedPasses>(*this);
}

void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length) {
  if (!tokens.defined()) throw Error("[" + model + "] expected tokens i64 (b, n), got an undefined tensor");
  if (tokens.dtype() != DType::i64 || tokens.rank() != 2)
    throw Error("[" + model + "] expected tokens i64 (b, n), got " + dtype_name(tokens.dtype()) + " " +
                to_string(tokens.shape()));
  const std::int64_t n = tokens.size(1);
  if (n < 1 || (max_length > 0 && n > max_length))
    throw Error("[" + model + "] a sequence of " + std::to_string(n) + " tokens; the model takes 1 to " +
                (max_length > 0 ? std::to_string(max_length) : "any number"));
}

}  // namespace weft
