// Continues the texts of all requests to a causal language model. One thread reads the prompts, one after the other.
// While it reads a long one, a second thread reads short ones, so that they don't wait. A third thread continues up to
// Settings::max_batch texts together, which begin and end at different times. It also reads prompts of a few symbols,
// one between two steps. A text begins when there is memory for its prompt and all symbols that it may get.
#pragma once
#include <weft/generate.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/answer.h"
#include "serve/metrics.h"
#include "serve/settings.h"
#include "serve/stream_memory.h"

namespace serve {

// A prompt that several texts of a request continue. It is read for all of them at once, so that no other thread uses
// the stream of one while those of the others are selected from it.
struct SharedPrompt {
  std::vector<std::int64_t> symbols;  // at least one
  weft::GenerateOptions options;      // the text k has the seed options.seed + k
  std::int64_t texts;
  bool is_scored;          // whether to compute the probabilities of its symbols
  std::int64_t bytes = 0;  // the memory that each of its texts may take; set by Continuations::add
  bool is_taken = false;   // whether a thread reads it or begins one of its texts; only this thread uses what follows
  bool is_read = false;
  std::vector<weft::Generation> generations = {};  // one for each text, unless there are no symbols to generate
  std::shared_ptr<const std::vector<weft::ScoredSymbol>> scored = {};
};

struct Prompt {
  std::shared_ptr<SharedPrompt> shared;
  std::size_t text;  // its number among the texts of the prompt
};

class Continuations {
 public:
  // All arguments must outlive the object.
  Continuations(std::string name, const weft::Model& model, const weft::Tokenizer& tokenizer, const Settings& settings,
                Metrics& metrics, StreamMemory& memory);
  ~Continuations();
  Continuations(const Continuations&) = delete;
  Continuations& operator=(const Continuations&) = delete;

  // Appends the prompts of one request to the queue. Throws an HttpError if there is no room for all of them, or if a
  // text would need more memory than Settings::max_memory.
  void add(const std::vector<Prompt>& prompts, const std::shared_ptr<Answer>& answer);

 private:
  struct Text {
    std::shared_ptr<Answer> answer;
    std::size_t index;                     // in the request
    std::int64_t bytes;                    // of memory for its stream
    Clock::time_point arrived, last = {};  // `last` is the time of the last symbol
    bool has_begun = false;                // whether it has a symbol
    bool has_ended = false;
  };
  struct Waiting {
    Text text;
    Prompt prompt;
  };
  struct Read {
    Text text;
    weft::Generation generation;
  };

  enum class Prompts { tiny, usual, short_ones };  // the prompts that a thread reads; short ones are usual, too

  void end_threads();
  void read_prompts(Prompts which);
  void wait_for_memory(std::unique_lock<std::mutex>& lock);
  std::deque<Waiting>::iterator next_for(Prompts which);
  bool begin_text(std::deque<Waiting>::iterator next, std::unique_lock<std::mutex>& lock);
  void read_or_share(Waiting& waiting);
  void read(SharedPrompt& prompt);
  void continue_texts();
  void begin_tiny_prompt(std::unique_lock<std::mutex>& lock);
  void join_batch(Read read);
  void step();
  static void fail(Text& text, const std::exception& error, bool is_read) noexcept;
  bool pass_on(Text& text, const weft::GeneratedSymbol& symbol) noexcept;
  std::int64_t bytes_of(const SharedPrompt& prompt) const;
  void end(std::int64_t texts, std::int64_t bytes);

  const std::string name_;
  const weft::Model& model_;
  const weft::Tokenizer& tokenizer_;
  const Settings& settings_;
  Metrics& metrics_;
  StreamMemory& memory_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool is_reading_long_ = false;  // whether the first reading thread reads a prompt that is not short
  std::vector<Read> read_;        // texts whose prompt has been read, which are not in the batch yet
  std::int64_t running_ = 0;      // texts whose prompt is being read, texts in read_, and texts in the batch
  std::int64_t bytes_ = 0;        // of memory_ that the running texts have
  bool ended_ = false;

  std::optional<weft::GenerationBatch> batch_;   // only the thread that continues texts uses these
  std::vector<std::shared_ptr<Text>> in_batch_;  // the texts of batch_
  std::vector<std::thread> threads_;
};

}  // namespace serve
