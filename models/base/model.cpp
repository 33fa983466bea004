#include "weft/model.h"

#include <utility>

#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// A forward pass over the latest tokens, as many as the model takes.
class RepeatedPasses : public TokenStream {
 public:
  explicit RepeatedPasses(const Model& model) : model_(model), parameters_(model.parameters()) {}

  Tensor next(std::int64_t token) override {
    return guard_memory("generate", [&] {
      const NoGrad suspended;
      parameters_.check();
      std::vector<std::int64_t> tokens = tokens_;
      const auto longest = static_cast<std::size_t>(model_.max_length());
      if (longest > 0 && tokens.size() == longest) tokens.erase(tokens.begin());
      tokens.push_back(token);
      const auto n = static_cast<std::int64_t>(tokens.size());
      const Tensor all = model_(Tensor::from(tokens, {1, n}));  // (1, n, vocabulary)
      Tensor logits = reshape(slice(all, 1, n - 1, n), {model_.outputs()});
      tokens_ = std::move(tokens);
      return logits;
    });
  }

 private:
  const Model& model_;
  SteadyParameters parameters_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace

NamedParameters Model::parameters() const {
  return guard_memory("model", [&] {
    NamedParameters all;
    collect("", all);
    return all;
  });
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
