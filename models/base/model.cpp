#include "weft/model.h"

#include <algorithm>
#include <utility>

#include "base/token_stream.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// A token stream that repeats the whole forward pass in each step. The pass reads the latest tokens of each text, up to
// the maximum length of the model.
class RepeatedPasses : public StreamOf<RepeatedPasses, std::vector<std::int64_t>> {
 public:
  explicit RepeatedPasses(const Model& model) : StreamOf(model, {}), model_(model) {}

  Tensor extend(const Tensor& tokens) {
    std::vector<std::vector<std::int64_t>> texts = texts_;
    std::vector<Tensor> logits;
    for (std::int64_t i = 0; i < std::ssize(texts); ++i) {
      const auto more = slice(tokens, 0, i, i + 1).to_vector<std::int64_t>();
      logits.push_back(read(texts[static_cast<std::size_t>(i)], more));
    }
    Tensor all = concat(logits, 0);
    texts_ = std::move(texts);
    return all;
  }

 private:
  // Appends tokens to one text, and returns the logits after the last one (1, vocabulary).
  Tensor read(std::vector<std::int64_t>& text, const std::vector<std::int64_t>& more) const {
    text.insert(text.end(), more.begin(), more.end());
    const std::int64_t longest = model_.max_length();
    if (longest > 0 && std::ssize(text) > longest) text.erase(text.begin(), text.end() - longest);
    const std::int64_t n = std::ssize(text);
    const Tensor all = model_(Tensor::from(text, {1, n}));  // (1, n, vocabulary)
    return reshape(slice(all, 1, n - 1, n), {1, model_.outputs()});
  }

  const Model& model_;
};

}  // namespace

NamedParameters Model::parameters() const {
  return guard_memory("model", [&] {
    NamedParameters all;
    collect("", all);
    return all;
  });
}

void Model::set_precision(Precision precision) {
  if (precision == Precision::bf16)
    for (const auto& [name, parameter] : parameters())
      if (const DType dtype = parameter.value().dtype(); dtype != DType::f32 && !parameter.quantized())
        throw Error(std::string("[model] precision bf16 requires f32 parameters, but ") + name + " is " +
                    dtype_name(dtype));
  precision_ = precision;
}

void TokenStream::join(TokenStream&) {
  throw Error("[generate] the token streams of this architecture can't be joined");
}

Tensor TokenStream::append_each(const Tensor& tokens) {
  check_appended_each(tokens, texts(), 1);
  return append(tokens);
}

void TokenStream::take_back(std::int64_t count) { check_taken_back(count, 0); }

Tensor TokenStream::next(std::int64_t token) {
  return guard_memory("generate", [&] {
    const NoGrad suspended;
    return reshape(append(Tensor::from<std::int64_t>({token}, {1, 1})), {-1});
  });
}

Tensor Model::forward(const ModelInput& input, const Random* dropout) const {
  if (input.frames.defined()) throw Error(std::string("[") + arch() + "] this model reads only tokens, got frames");
  return (*this)(input.tokens, dropout);
}

Tensor Model::features(const Tensor&) const {
  throw Error(std::string("[") + arch() + "] this architecture can't return features of tokens");
}

std::string Model::config_for(Task) const { return config(); }

std::string Model::why_stream_is_slow() const {
  return std::string("its architecture, ") + arch() + ", does not implement a token stream";
}

// A list has up to twice the capacity that it needs.
std::int64_t Model::stream_bytes(std::int64_t tokens) const {
  constexpr std::int64_t most = std::int64_t{1} << 58;
  if (max_length() > 0) tokens = std::min(tokens, max_length());
  return 2 * static_cast<std::int64_t>(sizeof(std::int64_t)) * std::min(tokens, most);
}

std::unique_ptr<TokenStream> Model::stream() const {
  if (task() != Task::causal_lm)
    throw Error(std::string("[generate] a model with the task ") + task_name(task()) +
                " can't continue a text: only a causal language model can");
  return std::make_unique<RepeatedPasses>(*this);
}

namespace {

void check_length(const std::string& model, std::int64_t n, const char* unit, std::int64_t max_length) {
  if (n < 1 || (max_length > 0 && n > max_length))
    throw Error("[" + model + "] expected sequences of " +
                (max_length > 0 ? "1 to " + std::to_string(max_length) : std::string("at least 1")) + " " + unit +
                ", got " + std::to_string(n));
}

}  // namespace

void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length) {
  if (!tokens.defined()) throw Error("[" + model + "] expected tokens i64 (b, n), got an undefined tensor");
  if (tokens.dtype() != DType::i64 || tokens.rank() != 2)
    throw Error("[" + model + "] expected tokens i64 (b, n), got " + dtype_name(tokens.dtype()) + " " +
                to_string(tokens.shape()));
  check_length(model, tokens.size(1), "tokens", max_length);
}

void check_input(const std::string& model, const ModelInput& input, const InputSpec& spec, std::int64_t vocabulary,
                 std::int64_t max_length) {
  const Tensor &tokens = input.tokens, &frames = input.frames;
  if (vocabulary > 0) check_tokens(model, tokens, max_length);
  else if (tokens.defined())
    throw Error("[" + model + "] this model reads no tokens, got tokens " + to_string(tokens.shape()));
  if (!spec.defined()) {
    if (frames.defined())
      throw Error("[" + model + "] this model reads only tokens, got frames " + to_string(frames.shape()));
    return;
  }
  const Shape picture{spec.height, spec.width, spec.channels};
  const bool fits =
      frames.defined() && (frames.dtype() == DType::f32 || frames.dtype() == DType::f64) &&
      (spec.is_picture() ? frames.rank() == 4 && Shape(frames.shape().begin() + 1, frames.shape().end()) == picture
                         : frames.rank() == 3 && frames.size(2) == spec.channels);
  if (!fits)
    throw Error("[" + model + "] expected frames f32 or f64 " +
                (spec.is_picture() ? "(b, " + std::to_string(spec.height) + ", " + std::to_string(spec.width)
                                   : std::string("(b, n")) +
                ", " + std::to_string(spec.channels) + "), got " +
                (frames.defined() ? dtype_name(frames.dtype()) + (" " + to_string(frames.shape())) : "none"));
  const std::int64_t n = spec.is_picture() ? spec.patches() : frames.size(1);
  check_length(model, n, spec.is_picture() ? "patches" : "frames", max_length);
  if (tokens.defined() && tokens.shape() != Shape{frames.size(0), n})
    throw Error("[" + model + "] expected tokens for each frame, (" + std::to_string(frames.size(0)) + ", " +
                std::to_string(n) + "), got " + to_string(tokens.shape()));
}

}  // namespace weft
