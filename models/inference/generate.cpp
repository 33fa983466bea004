#include "weft/generate.h"

#include <algorithm>
#include <cmath>

#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// Returns the logits as numbers. Throws an Error if one of them is not finite.
std::vector<double> values_of(const Tensor& logits) {
  auto x = raw::convert(logits, DType::f64).to_vector<double>();
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); }))
    throw Error("[generate] the model's logits are not finite");
  return x;
}

struct Symbol {
  double logit;
  std::int64_t id;
};

// The larger logit comes first. Of equal logits, the one with the lower id comes first.
bool comes_before(const Symbol& a, const Symbol& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// Returns the first `count` symbols (0: all) in the order of comes_before, without symbols whose logit is -infinity.
// Sorts only the symbols that it returns.
std::vector<Symbol> first_symbols(const std::vector<double>& x, std::int64_t count) {
  std::vector<Symbol> symbols;
  symbols.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != -HUGE_VAL) symbols.push_back({x[i], static_cast<std::int64_t>(i)});
  if (count > 0 && count < std::ssize(symbols)) {
    std::nth_element(symbols.begin(), symbols.begin() + count, symbols.end(), comes_before);
    symbols.resize(static_cast<std::size_t>(count));
  }
  std::sort(symbols.begin(), symbols.end(), comes_before);
  return symbols;
}

// Chooses one of the ids 0 … x.size() - 1, but no id whose logit is -infinity. If all logits are -infinity, chooses 0.
std::int64_t choose(const std::vector<double>& x, double temperature, std::int64_t top_k, double top_p, double u) {
  if (temperature == 0) return std::max_element(x.begin(), x.end()) - x.begin();
  const std::vector<Symbol> order = first_symbols(x, top_k);
  if (order.empty()) return 0;
  std::vector<double> sums;  // of exp((x - max) / temperature)
  double sum = 0;
  sums.reserve(order.size());
  for (const Symbol& s : order) sums.push_back(sum += std::exp((s.logit - order.front().logit) / temperature));
  if (top_p < 1) {
    const auto enough = std::lower_bound(sums.begin(), sums.end(), top_p * sum) - sums.begin();
    sums.resize(static_cast<std::size_t>(std::min(enough, std::ssize(sums) - 1)) + 1);
    sum = sums.back();
  }
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), u * sum) - sums.begin();
  return order[static_cast<std::size_t>(std::min(chosen, std::ssize(sums) - 1))].id;
}

// Passes on the text before the first stop text. Holds back text that may be the beginning of a stop text.
class StopFilter {
 public:
  explicit StopFilter(const std::vector<std::string>& stops) : stops_(&stops) {}

  // Adds `more`, updates stopped(), and returns the text that can be passed on.
  std::string add(const std::string& more) {
    held_ += more;
    std::size_t end = held_.size();
    for (const std::string& stop : *stops_) {
      const std::size_t found = held_.find(stop);
      if (found == std::string::npos) continue;
      stopped_ = true;
      end = std::min(end, found);
    }
    if (!stopped_) end -= longest_beginning();
    return take(end);
  }
  // Returns the text that was held back. Call this if no more text follows.
  std::string rest() { return take(held_.size()); }
  bool stopped() const noexcept { return stopped_; }

 private:
  // The length of the longest suffix of held_ that is the beginning of a stop text.
  std::size_t longest_beginning() const {
    std::size_t longest = 0;
    for (const std::string& stop : *stops_)
      for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n)
        if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) longest = n;
    return longest;
  }
  std::string take(std::size_t count) {
    std::string taken = held_.substr(0, count);
    held_.erase(0, count);
    return taken;
  }

  const std::vector<std::string>* stops_;
  std::string held_;
  bool stopped_ = false;
};

void check(const GenerateOptions& options) {
  if (!(options.temperature >= 0) || options.top_k < 0 || options.tokens < 0)
    throw Error("[generate] expected temperature, top_k and tokens of at least 0");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw Error("[generate] expected top_p above 0 and at most 1, got " + std::to_string(options.top_p));
  for (const std::string& stop : options.stop)
    if (stop.empty()) throw Error("[generate] a stop text is empty");
}

std::vector<std::int64_t> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<std::int64_t> ids = tokenizer.encode(prompt);
  if (!ids.empty()) return ids;
  for (std::int64_t id = tokenizer.size() - 1; id > 0; --id)
    if (tokenizer.decode(id) == "\n") return {id};
  return {0};
}

// Prevents special symbols from being chosen.
void leave_out(const SpecialIds& special, std::vector<double>& logits) {
  for (const auto& id : {special.unknown, special.pad, special.cls, special.mask, special.sep})
    if (id) logits[static_cast<std::size_t>(*id)] = -HUGE_VAL;
}

// One of several continuations.
struct Sample {
  std::int64_t index;
  Random random;
  StopFilter filter;
  std::int64_t before;  // its latest id
};

// The natural logarithm of softmax(x) at `id`.
double log_probability(const std::vector<double>& x, std::int64_t id) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - most);
  return x[static_cast<std::size_t>(id)] - most - std::log(sum);
}

// Chooses symbols. Tokenizer and options must outlive it.
class Chooser {
 public:
  Chooser(const Tokenizer& tokenizer, const GenerateOptions& options)
      : tokenizer_(&tokenizer), options_(&options), special_(tokenizer.special()) {}

  // Chooses the sample's i-th symbol by the logits (1, vocabulary).
  GeneratedSymbol next(Sample& sample, const Tensor& logits, std::int64_t i) const {
    std::vector<double> x = values_of(logits);
    leave_out(special_, x);
    const double u = sample.random.uniform(static_cast<std::uint64_t>(i));
    const std::int64_t id = choose(x, options_->temperature, options_->top_k, options_->top_p, u);
    std::string text = sample.filter.add(tokenizer_->separator(sample.before, id) + tokenizer_->decode(id));
    const bool ends = sample.filter.stopped() || i + 1 == options_->tokens;
    if (ends && !sample.filter.stopped()) text += sample.filter.rest();
    sample.before = id;
    return {.id = id,
            .text = std::move(text),
            .log_probability = options_->log_probabilities ? log_probability(x, id) : 0,
            .is_last = ends,
            .is_stopped = sample.filter.stopped()};
  }

 private:
  const Tokenizer* tokenizer_;
  const GenerateOptions* options_;
  SpecialIds special_;
};

// Continues any number of samples.
class Continuation {
 public:
  Continuation(const Tokenizer& tokenizer, const GenerateOptions& options,
               const std::function<bool(const SampleText&)>& out)
      : chooser_(tokenizer, options), tokens_(options.tokens), out_(out) {}

  // The stream has one text for each of the b samples. `logits` (b, vocabulary) are for their next symbols. Returns the
  // number of symbols that were chosen.
  std::int64_t run(std::unique_ptr<TokenStream> stream, Tensor logits, std::vector<Sample> samples) const {
    std::int64_t symbols = 0;
    for (std::int64_t i = 0; i < tokens_; ++i) {
      std::vector<std::int64_t> going_on, ids;
      for (std::int64_t row = 0; row < std::ssize(samples); ++row, ++symbols)
        if (add_symbol(samples[static_cast<std::size_t>(row)], slice(logits, 0, row, row + 1), i)) {
          going_on.push_back(row);
          ids.push_back(samples[static_cast<std::size_t>(row)].before);
        }
      if (going_on.empty()) break;
      if (going_on.size() < samples.size()) {
        stream = stream->select(going_on);
        std::vector<Sample> others;
        for (std::int64_t row : going_on) others.push_back(std::move(samples[static_cast<std::size_t>(row)]));
        samples = std::move(others);
      }
      logits = stream->append(Tensor::from(ids, {std::ssize(ids), 1}));
    }
    return symbols;
  }

 private:
  // Returns whether the sample continues.
  bool add_symbol(Sample& sample, const Tensor& logits, std::int64_t i) const {
    const GeneratedSymbol symbol = chooser_.next(sample, logits, i);
    return out_({sample.index, symbol.text, symbol.is_last}) && !symbol.is_last;
  }

  Chooser chooser_;
  std::int64_t tokens_;
  const std::function<bool(const SampleText&)>& out_;
};

// The number of samples in one batch. Larger: hardly faster, and more memory, because each sample stores what it has
// read.
constexpr std::int64_t samples_at_once = 8;

void check_belongs(const Tokenizer& tokenizer, const Model& model) {
  if (tokenizer.size() != model.vocabulary())
    throw Error("[generate] the tokenizer has " + std::to_string(tokenizer.size()) + " symbols, but the model has " +
                std::to_string(model.vocabulary()) + ": the two do not belong together");
}

}  // namespace

std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u, double top_p) try {
  return choose(values_of(logits), temperature, top_k, top_p, u);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("generate");
}

std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out) try {
  check(options);
  if (samples < 1) throw Error("[generate] expected at least one sample, got " + std::to_string(samples));
  check_belongs(tokenizer, model);
  auto stream = model.stream();
  const std::vector<std::int64_t> ids = encode_prompt(tokenizer, prompt);
  const Continuation continuation(tokenizer, options, out);
  std::int64_t symbols = 0;
  Context::current().parallel_region([&] {
    const Tensor logits = stream->append(Tensor::from(ids, {1, std::ssize(ids)}));  // (1, vocabulary)
    for (std::int64_t first = 0; first < samples; first += samples_at_once) {
      const std::int64_t count = std::min(samples_at_once, samples - first);
      std::vector<Sample> batch;
      for (std::int64_t s = first; s < first + count; ++s)
        batch.push_back(
            {s, Random(options.seed + static_cast<std::uint64_t>(s)), StopFilter(options.stop), ids.back()});
      auto texts = stream->select(std::vector<std::int64_t>(static_cast<std::size_t>(count), 0));
      if (first + count == samples) stream.reset();  // its own text shares memory with the samples
      symbols += continuation.run(std::move(texts), expand(logits, {count, logits.size(1)}), std::move(batch));
    }
  });
  return symbols;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("generate");
}

std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out) {
  return generate_samples(model, tokenizer, prompt, options, 1,
                          [&](const SampleText& piece) { return out(piece.text); });
}

struct Generation::Impl {
  Impl(const Model& of, const Tokenizer& tokenizer, const std::string& prompt, GenerateOptions given)
      : model(&of),
        options(std::move(given)),
        chooser(tokenizer, options),
        stream(model->stream()),
        sample{0, Random(options.seed), StopFilter(options.stop), 0} {
    const std::vector<std::int64_t> ids = encode_prompt(tokenizer, prompt);
    prompt_symbols = std::ssize(ids);
    sample.before = ids.back();
    logits = stream->append(Tensor::from(ids, {1, prompt_symbols}));
  }

  bool has_ended() const noexcept { return ended || symbols == options.tokens; }
  // Computes the logits for the next symbol unless they are known.
  void read_last() {
    if (!logits.defined()) logits = stream->append(Tensor::from<std::int64_t>({sample.before}, {1, 1}));
  }
  GeneratedSymbol choose_next() {
    GeneratedSymbol symbol = chooser.next(sample, logits, symbols);
    logits = Tensor();
    ++symbols;
    ended = symbol.is_last;
    return symbol;
  }

  const Model* model;
  GenerateOptions options;
  Chooser chooser;
  std::unique_ptr<TokenStream> stream;  // null in a GenerationBatch after the first step
  Tensor logits;                        // for the next symbol; undefined until the previous one is appended
  Sample sample;
  std::int64_t symbols = 0, prompt_symbols = 0;
  bool ended = false;
};

Generation::Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                       const GenerateOptions& options) {
  guard_memory("generate", [&] {
    check(options);
    check_belongs(tokenizer, model);
    Context::current().parallel_region([&] { impl_ = std::make_unique<Impl>(model, tokenizer, prompt, options); });
  });
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<std::string> Generation::next() {
  std::optional<GeneratedSymbol> symbol = next_symbol();
  return symbol ? std::optional(std::move(symbol->text)) : std::nullopt;
}

std::optional<GeneratedSymbol> Generation::next_symbol() {
  return guard_memory("generate", [&]() -> std::optional<GeneratedSymbol> {
    if (impl_->has_ended()) return std::nullopt;
    GeneratedSymbol symbol;
    Context::current().parallel_region([&] {
      impl_->read_last();
      symbol = impl_->choose_next();
    });
    return symbol;
  });
}

std::int64_t Generation::prompt_symbols() const noexcept { return impl_->prompt_symbols; }

struct GenerationBatch::Impl {
  struct Member {
    std::unique_ptr<Generation::Impl> text;
    Out out;
    bool has_ended = false;
  };

  // Removes the texts that have ended.
  void clean_up() {
    std::vector<std::int64_t> left;
    for (std::int64_t i = 0; i < std::ssize(members); ++i)
      if (!members[static_cast<std::size_t>(i)].has_ended) left.push_back(i);
    if (left.size() == members.size()) return;
    std::vector<Member> kept;
    kept.reserve(left.size());
    if (left.empty()) stream.reset();
    else stream = stream->select(left);
    for (std::int64_t i : left) kept.push_back(std::move(members[static_cast<std::size_t>(i)]));
    members = std::move(kept);
  }

  // Appends the latest symbols of the texts in the stream. After an Error, a second call continues where the first one
  // stopped.
  void read_last() {
    if (!rows.defined()) {
      if (members.empty() || members.front().text->logits.defined()) return;
      std::vector<std::int64_t> ids;
      for (const Member& member : members) ids.push_back(member.text->sample.before);
      rows = stream->append(Tensor::from(ids, {std::ssize(ids), 1}));
    }
    for (std::int64_t i = 0; i < std::ssize(members); ++i)
      members[static_cast<std::size_t>(i)].text->logits = slice(rows, 0, i, i + 1);
    rows = Tensor();
  }

  // Moves the newcomers into the stream.
  void join() {
    members.reserve(members.size() + newcomers.size());
    for (Member& member : newcomers) {
      try {
        member.text->read_last();
        if (stream == nullptr) stream = std::move(member.text->stream);
        else stream->join(*member.text->stream);
        member.text->stream.reset();
        members.push_back(std::move(member));
      } catch (const Error& error) {
        (void)member.out({.text = {}, .is_last = true, .error = error.what()});
      }
    }
    newcomers.clear();
  }

  // Chooses the next symbol of a text.
  static void choose_next(Member& member) {
    GeneratedSymbol symbol;
    try {
      symbol = member.text->choose_next();
    } catch (const std::exception& error) {
      symbol = {.text = {}, .is_last = true, .error = error.what()};
    }
    member.has_ended = !member.out(symbol) || symbol.is_last;
  }

  void step() {
    clean_up();
    read_last();
    join();
    for (Member& member : members) choose_next(member);
    if (size() > 0) return;
    stream.reset();
    members.clear();
  }

  std::int64_t size() const noexcept {
    const auto continues = [](const Member& member) { return !member.has_ended; };
    return std::count_if(members.begin(), members.end(), continues) + std::ssize(newcomers);
  }

  const Model* model = nullptr;         // of all texts
  std::unique_ptr<TokenStream> stream;  // has a text for each member
  std::vector<Member> members, newcomers;
  Tensor rows;  // logits (members, vocabulary) that the members don't have yet
};

GenerationBatch::GenerationBatch() : impl_(std::make_unique<Impl>()) {}
GenerationBatch::GenerationBatch(GenerationBatch&&) noexcept = default;
GenerationBatch& GenerationBatch::operator=(GenerationBatch&&) noexcept = default;
GenerationBatch::~GenerationBatch() = default;

void GenerationBatch::add(Generation generation, Out out) {
  guard_memory("generate", [&] {
    if (generation.impl_->has_ended())
      throw Error("[generate] expected a generation that continues, got one at its end");
    if (size() > 0 && impl_->model != generation.impl_->model)
      throw Error("[generate] expected a generation of the batch's model");
    impl_->model = generation.impl_->model;
    impl_->newcomers.push_back({std::move(generation.impl_), std::move(out)});
  });
}

std::int64_t GenerationBatch::step() {
  return guard_memory("generate", [&] {
    Context::current().parallel_region([&] { impl_->step(); });
    return size();
  });
}

std::int64_t GenerationBatch::size() const noexcept { return impl_->size(); }

}  // namespace weft
