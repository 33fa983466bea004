// What a model has computed so far for the texts of one completion request. The model's threads add pieces, and the
// thread of the request takes them. The number of pieces is bounded by the request's max_tokens, so that a slow reader
// holds up nobody.
#pragma once
#include <weft/generate.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "serve/http_error.h"
#include "serve/settings.h"

namespace serve {

using Clock = std::chrono::steady_clock;

// Returns the error for a request whose texts have no room in the queue of a model.
inline HttpError queue_full(const std::string& model, const Settings& settings) {
  return {429, "queue_full",
          "the queue of the model \"" + model + "\" is full (--max-queue " + std::to_string(settings.max_queue) + ")"};
}

struct Piece {
  std::size_t text = 0;                                                       // index of the text in the request
  std::optional<std::int64_t> prompt_symbols = {};                            // the prompt has been read
  std::shared_ptr<const std::vector<weft::ScoredSymbol>> scored_prompt = {};  // if the request asks for it
  std::optional<weft::GeneratedSymbol> symbol = {};                           // the next symbol
  std::optional<HttpError> error = {};                                        // the text can't be continued
};

class Answer {
 public:
  // Returns false if nobody needs the answer anymore.
  bool add(Piece piece) noexcept;
  // Waits for a piece until the given time. Returns no value if there is none by then.
  std::optional<Piece> next(Clock::time_point until);

  void cancel();
  bool is_cancelled() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool cancelled_ = false;
};

}  // namespace serve
