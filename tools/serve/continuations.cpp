#include "serve/continuations.h"

#include <weft/context.h>
#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>

namespace serve {
namespace {

// The second reading thread reads prompts of up to this many symbols while the first one reads a longer one. Larger: a
// prompt of this length is delayed more by the longer one. Smaller: more prompts wait for the longer one.
constexpr std::int64_t short_prompt = 512;
// The thread that continues texts reads prompts of up to this many symbols between two steps, with all threads of the
// model. A reading thread of its own would compete with these threads for the processors and slow down each step. The
// symbols of a prompt with several texts count once for each text. With a gMLP of 100 M parameters, 16 symbols take
// about as long as a step. Larger: the other texts wait longer. Smaller: fewer tokens per second, if there are many such
// prompts. bench: weft-load-bench --clients 8
constexpr std::int64_t tiny_prompt = 16;

// Ends the reading of a prompt that nobody waits for.
class NotNeeded : public std::exception {};

// Lets the computations of the calling thread throw NotNeeded when nobody needs the answer anymore.
class InterruptScope {
 public:
  explicit InterruptScope(const Answer& answer) {
    weft::Context::current().set_interrupt([&answer] {
      if (answer.is_cancelled()) throw NotNeeded();
    });
  }
  ~InterruptScope() { weft::Context::current().set_interrupt({}); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Continuations::Continuations(std::string name, const weft::Model& model, const weft::Tokenizer& tokenizer,
                             const Settings& settings, Metrics& metrics, StreamMemory& memory)
    : name_(std::move(name)),
      model_(model),
      tokenizer_(tokenizer),
      settings_(settings),
      metrics_(metrics),
      memory_(memory) {
  metrics_.add(name_, Metrics::waiting, 0);  // so that the metrics show the model
  try {
    for (const Prompts which : {Prompts::usual, Prompts::short_ones})
      threads_.emplace_back([this, which] {
        // A text that has begun should not stall while a long prompt is read.
        weft::os::lower_thread_priority();
        read_prompts(which);
      });
    threads_.emplace_back([this] { continue_texts(); });
  } catch (...) {  // the system refuses the thread
    end_threads();
    throw;
  }
}

void Continuations::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Continuations::~Continuations() {
  end_threads();
  metrics_.add(name_, Metrics::waiting, -std::ssize(waiting_));
  end(running_, bytes_);
  memory_.leave(this);
}

void Continuations::add(const std::vector<Prompt>& prompts, const std::shared_ptr<Answer>& answer) {
  for (const Prompt& prompt : prompts)
    if (prompt.text == 0) prompt.shared->bytes = bytes_of(*prompt.shared);
  const std::lock_guard lock(mutex_);
  const auto cancelled = std::erase_if(waiting_, [](const Waiting& w) { return w.text.answer->is_cancelled(); });
  metrics_.add(name_, Metrics::waiting, -static_cast<std::int64_t>(cancelled));
  if (cancelled > 0) {
    memory_.leave(this);  // a text that still needs memory asks for it again
    changed_.notify_all();
  }
  if (std::ssize(waiting_) + std::ssize(prompts) > settings_.max_queue) throw queue_full(name_, settings_);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    waiting_.push_back({{answer, i, prompts[i].shared->bytes, Clock::now()}, prompts[i]});
    metrics_.add(name_, Metrics::waiting, 1);
  }
  changed_.notify_all();
}

// A text without new symbols needs no stream.
std::int64_t Continuations::bytes_of(const SharedPrompt& prompt) const {
  const std::int64_t symbols = std::ssize(prompt.symbols), tokens = prompt.options.tokens;
  const std::int64_t length = symbols + std::min(tokens, INT64_MAX - symbols);
  const std::int64_t bytes = tokens > 0 ? model_.stream_bytes(length) : 0;
  if (bytes > memory_.most())
    throw wrong("max_tokens", "expected a prompt and new symbols that take at most " + std::to_string(memory_.most()) +
                                  " bytes of memory (--max-memory), got " + std::to_string(length) +
                                  " symbols, which may take " + std::to_string(bytes));
  return bytes;
}

// Counts texts that have ended.
void Continuations::end(std::int64_t texts, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  running_ -= texts;
  bytes_ -= bytes;
  memory_.give_back(bytes);
  metrics_.add(name_, Metrics::running, -texts);
  metrics_.add(name_, Metrics::stream_bytes, -bytes);
  changed_.notify_all();
}

void Continuations::read_prompts(Prompts which) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || next_for(which) != waiting_.end(); });
    if (ended_) return;
    if (!begin_text(next_for(which), lock)) wait_for_memory(lock);
  }
}

// Other models give memory back without a notice.
void Continuations::wait_for_memory(std::unique_lock<std::mutex>& lock) {
  changed_.wait_for(lock, std::chrono::milliseconds(20));
}

// Returns the first text that a thread for such prompts may begin, or waiting_.end(). Tiny and short prompts precede
// other ones only while a long one is read, so that each long one gets its turn. A tiny prompt that waits for memory
// may then be overtaken by short ones.
std::deque<Continuations::Waiting>::iterator Continuations::next_for(Prompts which) {
  if (running_ >= settings_.max_batch || (which == Prompts::short_ones && !is_reading_long_)) return waiting_.end();
  const auto fits = [&](const Waiting& waiting) {
    const SharedPrompt& prompt = *waiting.prompt.shared;
    const std::int64_t symbols = std::ssize(prompt.symbols);
    const bool is_tiny = symbols <= tiny_prompt / prompt.texts;
    if (which == Prompts::tiny) return is_tiny;
    return !is_tiny && (which == Prompts::usual || symbols <= short_prompt);
  };
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return !waiting.prompt.shared->is_taken && (!is_reading_long_ || fits(waiting));
  });
  return next != waiting_.end() && fits(*next) ? next : waiting_.end();
}

// Takes a text out of the queue and begins it, without the lock. Drops it if nobody waits for it. Returns whether there
// was memory for it.
bool Continuations::begin_text(std::deque<Waiting>::iterator next, std::unique_lock<std::mutex>& lock) {
  const bool is_wanted = !next->text.answer->is_cancelled();
  const std::int64_t bytes = is_wanted ? next->text.bytes : 0;
  if (!is_wanted) memory_.leave(this);
  if (!memory_.take(bytes, this)) return false;
  Waiting waiting = std::move(*next);
  waiting_.erase(next);
  changed_.notify_all();  // the next text may belong to another thread
  metrics_.add(name_, Metrics::waiting, -1);
  if (!is_wanted) return true;
  ++running_;
  bytes_ += bytes;
  metrics_.add(name_, Metrics::running, 1);
  metrics_.add(name_, Metrics::stream_bytes, bytes);
  waiting.prompt.shared->is_taken = true;
  const bool is_long = std::ssize(waiting.prompt.shared->symbols) > short_prompt;
  if (is_long) is_reading_long_ = true;
  lock.unlock();
  read_or_share(waiting);
  lock.lock();
  waiting.prompt.shared->is_taken = false;
  if (is_long) is_reading_long_ = false;
  changed_.notify_all();
  return true;
}

// Reads the prompt of a text, unless another text of the prompt has done so.
void Continuations::read_or_share(Waiting& waiting) {
  Text& text = waiting.text;
  try {
    SharedPrompt& prompt = *waiting.prompt.shared;
    if (!prompt.is_read) {
      const InterruptScope scope(*text.answer);
      read(prompt);
    }
    if (text.answer->add({text.index, std::ssize(prompt.symbols), prompt.scored}) && !prompt.generations.empty()) {
      const std::lock_guard lock(mutex_);
      read_.push_back({text, std::move(prompt.generations[waiting.prompt.text])});
      changed_.notify_all();
      return;
    }
  } catch (const NotNeeded&) {  // there is nobody to tell
  } catch (const std::exception& error) {
    fail(text, error, false);
  }
  end(1, text.bytes);
}

void Continuations::read(SharedPrompt& prompt) {
  if (prompt.is_scored)
    prompt.scored = std::make_shared<const std::vector<weft::ScoredSymbol>>(
        weft::score_text(model_, tokenizer_, prompt.symbols, prompt.options.alternatives));
  if (prompt.options.tokens > 0) {
    std::vector<weft::Generation> generations;
    generations.emplace_back(model_, tokenizer_, prompt.symbols, prompt.options);
    for (std::int64_t k = 1; k < prompt.texts; ++k)
      generations.push_back(generations.front().with_seed(prompt.options.seed + static_cast<std::uint64_t>(k)));
    prompt.generations = std::move(generations);
  }
  metrics_.add(name_, Metrics::prompt_tokens, std::ssize(prompt.symbols));
  prompt.is_read = true;
}

// Ends a text with an error. After the prompt has been read, an Error is not the client's fault. If there is no memory
// for the error, the answer is cancelled.
void Continuations::fail(Text& text, const std::exception& error, bool is_read) noexcept {
  text.has_ended = true;
  try {
    HttpError known = http_error(error);
    if (is_read && known.status == 400) known = HttpError(500, "internal_error", error.what());
    text.answer->add({.text = text.index, .error = known});
  } catch (const std::bad_alloc&) {
    text.answer->cancel();
  }
}

void Continuations::continue_texts() {
  for (;;) {
    std::vector<Read> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return ended_ || !read_.empty() || !in_batch_.empty() || next_for(Prompts::tiny) != waiting_.end();
      });
      if (ended_) return;
      begin_tiny_prompt(lock);
      next.swap(read_);
    }
    for (Read& read : next) join_batch(std::move(read));
    if (!in_batch_.empty()) step();
  }
}

// Reads at most one prompt, and begins all texts whose prompts have been read.
void Continuations::begin_tiny_prompt(std::unique_lock<std::mutex>& lock) {
  for (bool has_read = false; !has_read;) {
    const auto next = next_for(Prompts::tiny);
    if (next == waiting_.end()) return;
    has_read = !next->prompt.shared->is_read && !next->text.answer->is_cancelled();
    if (begin_text(next, lock)) continue;
    if (read_.empty() && in_batch_.empty()) wait_for_memory(lock);
    return;
  }
}

void Continuations::join_batch(Read read) {
  try {
    if (!batch_) batch_.emplace();
    in_batch_.reserve(in_batch_.size() + 1);
    const auto text = std::make_shared<Text>(read.text);
    batch_->add(std::move(read.generation),
                [this, text](const weft::GeneratedSymbol& symbol) { return pass_on(*text, symbol); });
    in_batch_.push_back(text);
  } catch (const std::exception& error) {
    fail(read.text, error, true);
    end(1, read.text.bytes);
  }
}

// An error of the whole step ends all texts of the batch. The next text gets a new batch, because there may be no
// memory for one now.
void Continuations::step() {
  metrics_.add_batch(name_, std::ssize(in_batch_));
  try {
    batch_->step();
  } catch (const std::exception& error) {
    for (const std::shared_ptr<Text>& text : in_batch_)
      if (!text->has_ended) fail(*text, error, true);
    batch_.reset();
  }
  std::int64_t texts = 0, bytes = 0;
  std::erase_if(in_batch_, [&](const std::shared_ptr<Text>& text) {
    texts += text->has_ended;
    bytes += text->has_ended ? text->bytes : 0;
    return text->has_ended;
  });
  if (texts > 0) end(texts, bytes);
}

// Without memory for a symbol, only its text ends.
bool Continuations::pass_on(Text& text, const weft::GeneratedSymbol& symbol) noexcept try {
  if (!symbol.error.empty()) {
    if (symbol.is_out_of_memory) fail(text, weft::OutOfMemory(symbol.error), true);
    else fail(text, weft::Error(symbol.error), true);
    return false;
  }
  const Clock::time_point now = Clock::now();
  metrics_.add(name_, Metrics::generated_tokens, 1);
  if (text.has_begun) metrics_.add_next_token(name_, seconds_between(text.last, now));
  else metrics_.add_first_token(name_, seconds_between(text.arrived, now));
  text.has_begun = true;
  text.last = now;
  const bool is_wanted = text.answer->add({.text = text.index, .symbol = symbol});
  text.has_ended = !is_wanted || symbol.is_last;
  return is_wanted;
} catch (const std::exception& error) {
  fail(text, error, true);
  return false;
}

}  // namespace serve
