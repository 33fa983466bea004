#include <algorithm>

#include "inference/generation.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// The number of samples in one batch. Larger: hardly faster, and more memory, because each sample stores what it has
// read.
constexpr std::int64_t samples_at_once = 8;

}  // namespace

struct GenerationBatch::Impl {
  struct Member {
    std::unique_ptr<Generation::Impl> text;
    Out out;
    bool has_ended = false;
  };

  Impl() = default;
  // Begins with `count` continuations of a prompt. They have the seeds from `seed` on.
  Impl(const Generation::Impl& prompt, std::uint64_t seed, std::int64_t count)
      : model(prompt.model), stream(prompt.stream->select(std::vector<std::int64_t>(static_cast<std::size_t>(count)))) {
    for (std::int64_t i = 0; i < count; ++i)
      members.push_back({std::make_unique<Generation::Impl>(prompt, seed + static_cast<std::uint64_t>(i)), {}});
  }

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

  // Returns the symbol that ends a text with an error.
  static GeneratedSymbol failure(const std::exception& error, bool is_out_of_memory) {
    return {.text = {}, .is_last = true, .error = error.what(), .is_out_of_memory = is_out_of_memory};
  }

  // Calls body(). If it throws an Error or a lack of memory, passes it on to the text. Returns whether it threw none.
  // Other exceptions are those of an interrupt (Context::set_interrupt).
  template <class Body>
  static bool succeeds(Member& member, Body body) {
    try {
      body();
      return true;
    } catch (const OutOfMemory& error) {
      (void)member.out(failure(error, true));
    } catch (const Error& error) {
      (void)member.out(failure(error, false));
    } catch (const std::bad_alloc& error) {
      (void)member.out(failure(error, true));
    }
    return false;
  }

  // Moves the newcomers into the stream, one by one, so that a call after an exception continues with the next one.
  void join() {
    members.reserve(members.size() + newcomers.size());
    for (; !newcomers.empty(); newcomers.erase(newcomers.begin())) {
      Member& member = newcomers.front();
      const bool has_joined = succeeds(member, [&] {
        member.text->stop_guessing();
        member.text->read_last();
        if (stream == nullptr) stream = std::move(member.text->stream);
        else stream->join(*member.text->stream);
      });
      if (!has_joined) continue;
      member.text->stream.reset();
      members.push_back(std::move(member));
    }
  }

  // Computes the logits for the next symbols of all texts that continue.
  void compute_logits() {
    clean_up();
    read_last();
    join();
  }

  static void pass_on(Member& member, const GeneratedSymbol& symbol) {
    member.has_ended = !member.out(symbol) || symbol.is_last;
  }

  void step() {
    compute_logits();
    for (Member& member : members) {
      GeneratedSymbol symbol;
      if (succeeds(member, [&] { symbol = member.text->choose_next(); })) pass_on(member, symbol);
      else member.has_ended = true;
    }
    if (size() > 0) return;
    stream.reset();
    members.clear();
  }

  // generate_samples for a prompt that has been read.
  static std::int64_t continue_prompt(Generation& prompt, std::int64_t samples,
                                      const std::function<bool(const SampleText&)>& out) {
    const std::uint64_t seed = prompt.impl_->options.seed;
    std::int64_t symbols = 0;
    for (std::int64_t first = 0; first < samples; first += samples_at_once) {
      const std::int64_t count = std::min(samples_at_once, samples - first);
      Impl batch(*prompt.impl_, seed + static_cast<std::uint64_t>(first), count);
      for (std::int64_t i = 0; i < count; ++i)
        batch.members[static_cast<std::size_t>(i)].out = [&, sample = first + i](const GeneratedSymbol& symbol) {
          ++symbols;
          return out({sample, symbol.text, symbol.is_last});
        };
      if (first + count == samples) prompt.impl_->stream.reset();  // it shares memory with the samples
      while (batch.size() > 0) {
        batch.compute_logits();
        for (Member& member : batch.members) pass_on(member, member.text->choose_next());
      }
    }
    return symbols;
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

std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out) {
  if (samples < 1) throw Error("[generate] expected at least one sample, got " + std::to_string(samples));
  return guard_memory("generate", [&] {
    GenerateOptions used = options;
    if (samples > 1) used.speculate = false;
    Generation read(model, tokenizer, prompt, used);
    std::int64_t symbols = 0;
    if (samples == 1) {
      while (const std::optional<GeneratedSymbol> symbol = read.next_symbol()) {
        ++symbols;
        if (!out({0, symbol->text, symbol->is_last})) break;
      }
    } else if (options.tokens > 0) {
      Context::current().parallel_region([&] { symbols = GenerationBatch::Impl::continue_prompt(read, samples, out); });
    }
    return symbols;
  });
}

}  // namespace weft
