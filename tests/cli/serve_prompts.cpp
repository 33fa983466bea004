// Tests of the order in which weft serve reads prompts, and of prompts that nobody waits for.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "continued_texts.h"
#include "weft/context.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

constexpr std::int64_t short_prompt = 20, long_prompt = 1000;

// A model that reads a long prompt until `may_end` is set, and a short prompt until `may_end_short` is set.
class Patient final : public EvenModel {
 public:
  using EvenModel::EvenModel;
  std::atomic<bool> may_end = false, may_end_short = true;
  mutable std::atomic<int> short_prompts = 0;

  Tensor operator()(const Tensor& tokens, const Random* dropout) const override {
    const std::int64_t n = tokens.size(1);
    short_prompts += n == short_prompt;
    while ((n >= long_prompt && !may_end) || (n == short_prompt && !may_end_short))
      Context::current().parallel_for(
          1, 1, [](std::int64_t, std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    return EvenModel::operator()(tokens, dropout);
  }
};

// A model that notices whether two threads compute with it at the same time.
class Watching final : public EvenModel {
 public:
  using EvenModel::EvenModel;
  mutable std::atomic<int> computing = 0;
  mutable std::atomic<bool> overlaps = false;

  Tensor operator()(const Tensor& tokens, const Random* dropout) const override {
    if (++computing > 1) overlaps = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --computing;
    return EvenModel::operator()(tokens, dropout);
  }
};

// Lets the model end all prompts, also if a test fails.
class Release {
 public:
  explicit Release(Patient& model) : model_(model) {}
  ~Release() { model_.may_end = model_.may_end_short = true; }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  Patient& model_;
};

// Takes the pieces of a complete answer, and returns the number of its symbols.
std::int64_t count_symbols(Answer& answer) {
  std::int64_t symbols = 0;
  for (bool is_complete = false; !is_complete;) {
    const ::serve::Piece piece = next_piece(answer);
    REQUIRE_FALSE(piece.error.has_value());
    symbols += piece.symbol.has_value();
    is_complete = piece.symbol && piece.symbol->is_last;
  }
  return symbols;
}

}  // namespace

TEST_CASE("serve: prompts of a few symbols are read between the steps of other texts") {
  Texts texts;
  const Watching model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const auto other = continue_text(*continuations, 1000000);
  for (int i = 0; i < 10; ++i) CHECK(count_symbols(*continue_text(*continuations, 2, 16)) == 2);
  CHECK_FALSE(model.overlaps);
  CHECK(soon([&] {  // these prompts have a thread of their own
    CHECK(count_symbols(*continue_text(*continuations, 2, 17)) == 2);
    return model.overlaps.load();
  }));
  model.overlaps = false;
  CHECK(soon([&] {  // and so has a short one with several texts
    const auto prompt = std::make_shared<::serve::SharedPrompt>(
        ::serve::SharedPrompt{std::vector<std::int64_t>(9, 65), GenerateOptions{.tokens = 1}, 2, false});
    const auto answer = std::make_shared<Answer>();
    continuations->add({{prompt, 0}, {prompt, 1}}, answer);
    while (!next_piece(*answer).symbol) continue;
    return model.overlaps.load();
  }));
  other->cancel();
}

TEST_CASE("serve: a short prompt does not wait for a long one, and a long one waits") {
  Texts texts;
  Patient model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const Release release(model);
  const auto first = continue_text(*continuations, 2, long_prompt);
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 1"));
  const auto second = continue_text(*continuations, 3, long_prompt);
  for (int i = 0; i < 3; ++i) CHECK(count_symbols(*continue_text(*continuations, 5, short_prompt)) == 5);
  CHECK(count_symbols(*continue_text(*continuations, 5)) == 5);  // a tiny one doesn't wait, either
  CHECK(contains(texts.metrics.text(), "weft_waiting_texts{model=\"m\"} 1\n"));
  model.may_end = true;
  CHECK(count_symbols(*first) == 2);
  CHECK(count_symbols(*second) == 3);
}

// Two threads read the two prompts. The one that drops the first text wakes the other one.
TEST_CASE("serve: a prompt does not wait for an earlier one that was cancelled") {
  for (const std::int64_t cancelled : {short_prompt, std::int64_t{1}}) {
    CAPTURE(cancelled);
    Texts texts;
    texts.settings.max_batch = 1;
    const EvenModel model(*texts.tokenizer);
    const auto continuations = texts.continuations("m", model);
    const auto running = continue_text(*continuations, 1000000);
    while (!next_piece(*running).symbol) continue;
    const auto first = continue_text(*continuations, 2, cancelled);
    const auto second = continue_text(*continuations, 2, short_prompt + 1 - cancelled);
    first->cancel();
    running->cancel();
    CHECK(count_symbols(*second) == 2);
  }
}

// Each symbol takes 16 bytes. Beside a text of a million symbols there is only room for short ones.
TEST_CASE("serve: a short prompt does not overtake a long one that waits for memory") {
  constexpr std::int64_t million = 1000000;
  Texts texts(16 * (million + long_prompt / 2));
  Patient model(*texts.tokenizer);
  model.may_end = true;
  const auto continuations = texts.continuations("m", model);
  const Release release(model);
  CHECK(count_symbols(*continue_text(*continuations, 1, long_prompt)) == 1);  // now, none is read
  const auto first = continue_text(*continuations, million);
  while (!next_piece(*first).symbol) continue;
  const auto second = continue_text(*continuations, 2, long_prompt),
             third = continue_text(*continuations, 2, short_prompt), fourth = continue_text(*continuations, 2);
  CHECK_FALSE(third->next(Clock::now() + std::chrono::milliseconds(200)).has_value());
  CHECK_FALSE(fourth->next(Clock::now()).has_value());
  CHECK(contains(texts.metrics.text(), "weft_waiting_texts{model=\"m\"} 3\n"));
  first->cancel();
  CHECK(count_symbols(*second) == 2);
  CHECK(count_symbols(*third) == 2);
  CHECK(count_symbols(*fourth) == 2);
}

// The second thread reads a prompt with three texts. The first thread, which then has nothing else to do, must not
// begin the second text before the prompt has been read.
TEST_CASE("serve: only one thread reads a prompt with several texts, and other prompts don't wait for it") {
  Texts texts;
  Patient model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const Release release(model);
  model.may_end_short = false;
  const auto long_one = continue_text(*continuations, 2, long_prompt);
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 1"));
  const auto answer = std::make_shared<Answer>();
  GenerateOptions options;
  options.tokens = 1;
  const auto prompt = std::make_shared<::serve::SharedPrompt>(
      ::serve::SharedPrompt{std::vector<std::int64_t>(short_prompt, 65), options, 3, false});
  continuations->add({{prompt, 0}, {prompt, 1}, {prompt, 2}}, answer);
  CHECK(soon([&] { return model.short_prompts == 1; }));
  model.may_end = true;
  CHECK(count_symbols(*long_one) == 2);
  CHECK(count_symbols(*continue_text(*continuations, 1)) == 1);
  model.may_end_short = true;
  for (int symbols = 0; symbols < 3;) symbols += next_piece(*answer).symbol.has_value();
  CHECK(model.short_prompts == 1);
}

TEST_CASE("serve: a prompt that nobody waits for is not read to its end") {
  Texts texts;
  Patient model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const Release release(model);
  const auto answer = continue_text(*continuations, 2, long_prompt);
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 1"));
  answer->cancel();
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 0"));
  CHECK(contains(texts.metrics.text(), "weft_stream_bytes{model=\"m\"} 0\n"));
  CHECK_FALSE(answer->next(Clock::now()).has_value());
  model.may_end = true;
  CHECK(count_symbols(*continue_text(*continuations, 2, long_prompt)) == 2);  // the next one is read
}

// Each symbol takes 16 bytes. The second thread waits for memory until its text is cancelled.
TEST_CASE("serve: a cancelled short prompt does not keep memory from another model") {
  constexpr std::int64_t million = 1000000;
  Texts texts(16 * million);
  Patient model(*texts.tokenizer), other(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model), of_other = texts.continuations("other", other);
  const Release release(model);
  const auto first = continue_text(*continuations, million / 2, long_prompt);
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 1"));
  const auto second = continue_text(*continuations, million - short_prompt, short_prompt);
  CHECK_FALSE(second->next(Clock::now() + std::chrono::milliseconds(100)).has_value());
  second->cancel();
  const auto third = continue_text(*continuations, 2, long_prompt);
  CHECK(count_symbols(*continue_text(*of_other, 2)) == 2);
  first->cancel();
}

}  // namespace weft::test

#endif
