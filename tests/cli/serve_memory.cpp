// Tests of weft serve when there is too little memory.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <new>
#include <stdexcept>

#include "child.h"
#include "continued_texts.h"
#include "tools/serve/gatherer.h"
#include "tools/serve/memory_reserve.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

// A model whose memory can be exhausted.
class Exhaustible final : public EvenModel {
 public:
  using EvenModel::EvenModel;
  std::atomic<bool> is_exhausted = false;

  std::int64_t max_length() const noexcept override { return 4; }
  Tensor operator()(const Tensor& tokens, const Random* dropout) const override {
    if (is_exhausted) throw std::bad_alloc();
    return EvenModel::operator()(tokens, dropout);
  }
  std::int64_t stream_bytes(std::int64_t tokens) const override { return tokens; }
};

// A model whose streams can't be joined while there is no room.
class Crowded final : public EvenModel {
 public:
  using EvenModel::EvenModel;
  std::atomic<bool> has_room = true;

  std::unique_ptr<TokenStream> stream() const override { return std::make_unique<Stream>(*this, 1); }

 private:
  class Stream final : public TokenStream {
   public:
    Stream(const Crowded& model, std::int64_t texts) : model_(model), texts_(texts) {}
    std::int64_t texts() const noexcept override { return texts_; }
    Tensor append(const Tensor&) override { return Tensor::zeros({texts_, model_.vocabulary()}, DType::f32); }
    std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const override {
      return std::make_unique<Stream>(model_, std::ssize(texts));
    }
    void join(TokenStream& other) override {
      if (!model_.has_room) throw std::bad_alloc();
      texts_ += other.texts();
    }

   private:
    const Crowded& model_;
    std::int64_t texts_;
  };
};

// A result that can't be moved while `failing` is positive.
struct Fragile {
  static inline std::atomic<int> failing = 0;
  int value;

  explicit Fragile(int of) : value(of) {}
  Fragile(Fragile&& other) : value(other.value) {
    if (failing > 0 && failing-- > 0) throw std::bad_alloc();
  }
};

}  // namespace

TEST_CASE("serve: without memory for the results of several requests, each is computed alone") {
  const ::serve::Settings settings;
  ::serve::Metrics metrics;
  std::promise<void> may_go_on;
  std::atomic<int> calls = 0;
  const auto compute = [&, go_on = may_go_on.get_future().share()](const std::vector<int>& inputs) {
    if (++calls == 1) go_on.wait();
    std::vector<Fragile> results;
    results.reserve(inputs.size());
    for (const int input : inputs) results.emplace_back(10 * input);
    return results;
  };
  ::serve::Gatherer<int, Fragile> gatherer("m", compute, settings, metrics);
  const auto request = [&](const std::vector<int>& inputs) {
    return std::async(std::launch::async, [&gatherer, inputs] {
      std::vector<int> values;
      for (const Fragile& result : gatherer(inputs, Clock::now() + std::chrono::seconds(20), [] {}))
        values.push_back(result.value);
      return values;
    });
  };
  auto first = request({1});
  CHECK(soon_has(metrics, "weft_running_texts{model=\"m\"} 1"));
  auto second = request({2}), third = request({3, 4});
  CHECK(soon_has(metrics, "weft_waiting_texts{model=\"m\"} 3"));
  Fragile::failing = 1;
  may_go_on.set_value();
  CHECK((first.get() == std::vector<int>{10}));
  CHECK((second.get() == std::vector<int>{20}));
  CHECK((third.get() == std::vector<int>{30, 40}));
  CHECK(calls == 4);
  CHECK(soon_has(metrics, "weft_running_texts{model=\"m\"} 0"));
}

// The destructor of a JSON value allocates memory, and must not throw.
TEST_CASE("serve: without memory, values can be destroyed") {
  if (std::getenv("WEFT_KILL_LIBRARY") == nullptr) return;  // a sanitizer needs more memory
  WEFT_CHECK_IN_CHILD([](Findings& findings) {
    auto value = std::make_unique<::serve::Json>(::serve::Json::array({{{"a", {1, 2}}}, {{"b", {3, {4}}}}}));
    findings.expect(::serve::keep_memory_reserve(), "memory for the reserve");
    {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const Limit limit(RLIMIT_AS, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
      volatile void* last = nullptr;  // the memory stays in use until the child ends
      for (std::size_t bytes = 1 << 20; bytes > 0; bytes /= 2)
        while (void* const more = std::malloc(bytes)) last = more;
      (void)last;
      value.reset();
      findings.expect(!::serve::keep_memory_reserve(), "no memory for another reserve");
    }
    findings.expect(::serve::keep_memory_reserve(), "memory for another reserve");
  });
}

TEST_CASE("serve: without memory for a step, its texts end with an error, and the next text is complete") {
  Texts texts;
  Exhaustible model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const auto first = continue_text(*continuations, 1000000), second = continue_text(*continuations, 1000000);
  for (Answer* answer : {first.get(), second.get()})
    while (!next_piece(*answer).symbol) continue;
  model.is_exhausted = true;
  for (Answer* answer : {first.get(), second.get()}) {
    ::serve::Piece piece = next_piece(*answer);
    while (piece.symbol) piece = next_piece(*answer);
    REQUIRE(piece.error.has_value());
    CHECK(piece.error->status == 503);
  }
  CHECK(soon_has(texts.metrics, "weft_running_texts{model=\"m\"} 0"));
  CHECK(next_piece(*continue_text(*continuations, 3)).error->status == 503);
  model.is_exhausted = false;
  const auto third = continue_text(*continuations, 3);
  CHECK(next_piece(*third).prompt_symbols == 1);
  for (int i = 0; i < 3; ++i) CHECK(next_piece(*third).symbol->is_last == (i == 2));
}

TEST_CASE("serve: without memory to join the other texts, only the new text ends with an error") {
  Texts texts;
  Crowded model(*texts.tokenizer);
  const auto continuations = texts.continuations("m", model);
  const auto first = continue_text(*continuations, 1000000);
  while (!next_piece(*first).symbol) continue;
  model.has_room = false;
  const auto second = continue_text(*continuations, 3), third = continue_text(*continuations, 3);
  for (Answer* answer : {second.get(), third.get()}) {
    CHECK(next_piece(*answer).prompt_symbols == 1);
    const ::serve::Piece piece = next_piece(*answer);
    REQUIRE(piece.error.has_value());
    CHECK(piece.error->status == 503);
  }
  model.has_room = true;
  const auto fourth = continue_text(*continuations, 3);
  CHECK(next_piece(*fourth).prompt_symbols == 1);
  for (int i = 0; i < 3; ++i) CHECK(next_piece(*fourth).symbol->is_last == (i == 2));
  while (const auto piece = first->next(Clock::now())) CHECK(piece->symbol.has_value());
}

// A text takes one byte for each of its symbols, so two texts of a billion symbols have room, but not three.
TEST_CASE("serve: a text waits until there is memory for all its symbols, also if another model has the memory") {
  constexpr std::int64_t billion = 1000000000;
  Texts texts(2 * billion + billion / 2);
  Exhaustible one(*texts.tokenizer), other(*texts.tokenizer);
  auto of_one = texts.continuations("one", one), of_other = texts.continuations("other", other);
  const auto first = continue_text(*of_one, billion), second = continue_text(*of_one, billion);
  CHECK(soon_has(texts.metrics, "weft_stream_bytes{model=\"one\"} 2000000002"));
  CHECK(next_piece(*continue_text(*of_one, 0)).prompt_symbols == 1);  // takes no memory
  const auto waits = [](Answer& answer) {
    return !answer.next(Clock::now() + std::chrono::milliseconds(100)).has_value();
  };
  const auto third = continue_text(*of_one, billion);
  CHECK(waits(*third));
  const auto fourth = continue_text(*of_other, billion);
  CHECK(waits(*fourth));
  CHECK(contains(texts.metrics.text(), "weft_waiting_texts{model=\"other\"} 1\n"));
  try {
    (void)continue_text(*of_one, 3 * billion);
    FAIL_CHECK("a text that never has room must be refused");
  } catch (const ::serve::HttpError& error) {
    CHECK(error.status == 400);
    CHECK(contains(error.what(),
                   "expected a prompt and new symbols that take at most 2500000000 bytes of memory "
                   "(--max-memory), got 3000000001 symbols, which may take 3000000001"));
  }
  second->cancel();
  CHECK(next_piece(*third).prompt_symbols == 1);
  CHECK(waits(*fourth));
  of_one.reset();  // a reload ends the earlier model
  CHECK(next_piece(*fourth).prompt_symbols == 1);
  of_other.reset();
  CHECK(texts.memory.take(texts.memory.most(), nullptr));
  CHECK(contains(texts.metrics.text(), "weft_stream_bytes{model=\"one\"} 0\n"));
}

TEST_CASE("serve: memory goes to the model that has waited longest") {
  ::serve::Settings settings;
  settings.max_memory = 8;
  ::serve::StreamMemory memory(settings);
  const int large = 0, small = 0;
  CHECK(memory.take(3, &small));
  CHECK_FALSE(memory.take(6, &large));
  CHECK_FALSE(memory.take(3, &small));  // there are 5 bytes, but the other one waits for them
  CHECK(memory.take(0, &small));
  memory.give_back(3);
  CHECK_FALSE(memory.take(3, &small));
  CHECK(memory.take(6, &large));
  CHECK_FALSE(memory.take(3, &small));
  CHECK_FALSE(memory.take(1, &large));
  memory.leave(&small);
  CHECK(memory.take(1, &large));
}

TEST_CASE("serve: a cancelled text no longer waits for memory") {
  constexpr std::int64_t billion = 1000000000;
  Texts texts(2 * billion + billion / 2);
  Exhaustible one(*texts.tokenizer), other(*texts.tokenizer);
  const auto of_one = texts.continuations("one", one), of_other = texts.continuations("other", other);
  const auto first = continue_text(*of_one, 2 * billion), second = continue_text(*of_one, billion);
  CHECK_FALSE(second->next(Clock::now() + std::chrono::milliseconds(100)).has_value());
  second->cancel();
  CHECK(next_piece(*continue_text(*of_other, billion / 3)).prompt_symbols == 1);
}

TEST_CASE("serve: the memory of a text is limited by an option") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const std::int64_t bytes = load_checkpoint(folder / "lm", Purpose::inference).model->stream_bytes(3 + 20);
  const Outcome outcome = serve((folder / "lm") + " --max-memory " + std::to_string(bytes), [](const Served& served) {
    const Response fits = post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 20}});
    CHECK(fits.status == 200);
    const Response too_long = post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 500}});
    CHECK(too_long.status == 400);
    CHECK(contains(too_long.error(), "bytes of memory (--max-memory), got 503 symbols, which may take "));
    CHECK(soon([&] { return metric(served, "weft_stream_bytes") == "0"; }));
  });
  CHECK(outcome.code == 0);
}

}  // namespace weft::test

#endif
