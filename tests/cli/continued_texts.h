// Helpers for tests of the texts that weft serve continues, without HTTP.
#pragma once
#include "served.h"
#include "tools/serve/continuations.h"

namespace weft::test {

using ::serve::Answer;
using ::serve::Clock;
using ::serve::Continuations;

// Waits until the text of the metrics has this line.
inline bool soon_has(const ::serve::Metrics& metrics, const std::string& line) {
  return soon([&] { return contains(metrics.text(), line + "\n"); });
}

// A causal language model for which all symbols are equally probable.
class EvenModel : public Model {
 public:
  explicit EvenModel(const Tokenizer& tokenizer) : vocabulary_(tokenizer.size()) {}

  const char* arch() const noexcept override { return "even"; }
  Task task() const noexcept override { return Task::causal_lm; }
  std::int64_t outputs() const noexcept override { return vocabulary_; }
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }
  std::string config() const override { return "{}"; }
  std::int64_t max_length() const noexcept override { return 0; }
  Tensor operator()(const Tensor& tokens, const Random*) const override {
    return Tensor::zeros({tokens.size(0), tokens.size(1), vocabulary_}, DType::f32);
  }
  void collect(const std::string&, NamedParameters&) const override {}

 private:
  std::int64_t vocabulary_;
};

// The texts of one or more models without HTTP.
struct Texts {
  ::serve::Settings settings;
  ::serve::Metrics metrics;
  ::serve::StreamMemory memory;
  std::shared_ptr<const Tokenizer> tokenizer = learn_tokenizer("bytes", std::string());

  explicit Texts(std::int64_t max_memory = 0) : settings(with(max_memory)), memory(settings) {}

  std::unique_ptr<Continuations> continuations(const std::string& name, const Model& model) {
    return std::make_unique<Continuations>(name, model, *tokenizer, settings, metrics, memory);
  }

 private:
  static ::serve::Settings with(std::int64_t max_memory) {
    ::serve::Settings settings;
    settings.max_memory = max_memory;
    return settings;
  }
};

// Continues a prompt.
inline std::shared_ptr<Answer> continue_text(Continuations& continuations, std::int64_t tokens,
                                             std::int64_t prompt_symbols = 1) {
  const auto answer = std::make_shared<Answer>();
  GenerateOptions options;
  options.tokens = tokens;
  const auto prompt = std::make_shared<::serve::SharedPrompt>(::serve::SharedPrompt{
      std::vector<std::int64_t>(static_cast<std::size_t>(prompt_symbols), 65), options, 1, false});
  continuations.add({{prompt, 0}}, answer);
  return answer;
}

// Returns the next piece of an answer.
inline ::serve::Piece next_piece(Answer& answer) {
  const auto piece = answer.next(Clock::now() + std::chrono::seconds(20));
  REQUIRE(piece.has_value());
  return *piece;
}

}  // namespace weft::test
