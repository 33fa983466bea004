// POST /v1/completions.
#include <ctime>
#include <new>
#include <random>

#include "serve/completion_request.h"
#include "serve/completion_text.h"
#include "serve/memory_reserve.h"

namespace serve {
namespace {

std::string random_id() {
  constexpr char digits[] = "0123456789abcdef";
  std::random_device random;
  std::string id = "cmpl-";
  for (int i = 0; i < 24; ++i) id += digits[random() % 16];
  return id;
}

// A request that is being answered. Its end tells the model that nobody waits for its texts.
class Completion {
 public:
  Completion(Call& call, std::shared_ptr<const ServedModel> model, CompletionRequest request)
      : model_(std::move(model)),
        request_(std::move(request)),
        until_(call.until),
        check_(call.check),
        states_(call.states) {
    const std::size_t texts = request_.prompts.size() * static_cast<std::size_t>(request_.n);
    for (std::size_t i = 0; i < texts; ++i) texts_.emplace_back(i, request_, *model_->checkpoint().tokenizer);
    left_ = texts;
  }
  ~Completion() { answer_->cancel(); }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Throws an HttpError if the model has no room for the texts. If only some of them are in the queue then, the
  // destructor cancels them.
  void begin() { model_->continuations().add(request_.texts(), answer_); }
  bool has_ended() const { return left_ == 0; }
  // Waits for the next piece, and returns the text that it belongs to. Throws an HttpError if there is none in time.
  CompletionText& next() {
    const Piece piece = wait();
    if (piece.error) throw *piece.error;
    CompletionText& text = texts_[piece.text];
    if (piece.prompt_symbols) {
      if (piece.text % static_cast<std::size_t>(request_.n) == 0) prompt_symbols_ += *piece.prompt_symbols;
      text.begin(piece.scored_prompt.get());
    }
    if (piece.symbol) text.add(*piece.symbol);
    else if (request_.options.tokens == 0) text.end();
    if (text.has_ended()) end(text);
    return text;
  }

  // Returns the complete answer. All texts must have ended.
  Json whole() {
    Json choices = Json::array();
    for (CompletionText& text : texts_) choices.push_back(text.take());
    Json json = with(choices);
    json["usage"] = usage();
    return json;
  }

  // Writes the answer in parts, each with the new text of one choice.
  void write(CompletionText& first, const Write& write) {
    const auto send = [&](const Json& json) {
      if (!write("data: " + json_text(json) + "\n\n")) throw HttpError(499, "client_gone", "the client has gone away");
    };
    for (CompletionText* text = &first;; text = &next()) {
      if (!text->is_empty()) send(part(Json::array({text->take()})));
      if (has_ended()) break;
    }
    if (request_.include_usage) {
      Json last = with(Json::array());
      last["usage"] = usage();
      send(last);
    }
    write("data: [DONE]\n\n");
  }

 private:
  // Checks from time to time whether the client still waits.
  Piece wait() {
    for (;;) {
      check_();
      if (!keep_memory_reserve()) throw std::bad_alloc();  // the text may need more and more memory
      const auto now = Clock::now();
      if (answer_->is_cancelled()) throw HttpError(503, "out_of_memory", "the server has too little memory");
      if (now >= until_) throw HttpError(504, "timeout", "the text was not complete in time");
      if (const auto piece = answer_->next(std::min(until_, now + std::chrono::milliseconds(200)))) return *piece;
    }
  }

  void end(CompletionText& text) {
    --left_;
    if (request_.is_saved)
      text.set_state(states_.save(model_->name(), *model_->checkpoint().tokenizer, text.all_symbols()));
  }

  Json with(const Json& choices) const {
    return {{"id", id_},
            {"object", "text_completion"},
            {"created", created_},
            {"model", model_->name()},
            {"choices", choices}};
  }
  Json part(const Json& choices) const {
    Json json = with(choices);
    if (request_.include_usage) json["usage"] = nullptr;
    return json;
  }
  Json usage() const {
    std::int64_t symbols = 0;
    for (const CompletionText& text : texts_) symbols += text.symbols();
    return {{"prompt_tokens", prompt_symbols_},
            {"completion_tokens", symbols},
            {"total_tokens", prompt_symbols_ + symbols}};
  }

  const std::shared_ptr<const ServedModel> model_;
  const CompletionRequest request_;
  const Clock::time_point until_;
  const std::function<void()> check_;
  States& states_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  const std::string id_ = random_id();
  const std::int64_t created_ = std::time(nullptr);
  std::vector<CompletionText> texts_;
  std::size_t left_ = 0;  // number of texts that have not ended
  std::int64_t prompt_symbols_ = 0;
};

}  // namespace

Reply completions(Call& call) {
  const auto model = model_of(call);
  model->continuations();  // throws if the model has none
  CompletionRequest request = completion_request(call, *model);
  const bool stream = request.stream;
  const auto completion = std::make_shared<Completion>(call, model, std::move(request));
  completion->begin();
  // The first piece decides the status of a stream: an error in a prompt is an ordinary answer.
  CompletionText& first = completion->next();
  if (stream) return {{}, [completion, &first](const Write& write) { completion->write(first, write); }};
  while (!completion->has_ended()) completion->next();
  return {completion->whole()};
}

}  // namespace serve
