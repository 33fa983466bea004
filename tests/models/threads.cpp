// Tests of models that threads share. Each thread has its own context.
#include <doctest/doctest.h>

#include <thread>

#include "op_table.h"
#include "weft/context.h"
#include "weft/model.h"

namespace weft::test {
namespace {

struct Shared {
  const char* arch;
  Task task;
  const char* config;
};
constexpr Shared all_shared[] = {
    {"gmlp", Task::causal_lm, R"({"d_model":8,"layers":2,"seq_len":40})"},
    {"tnn", Task::causal_lm, R"({"d_model":8,"layers":2,"rpe_dim":4,"normalize":true})"},
    {"tnn", Task::classifier, R"({"d_model":8,"layers":1,"rpe_dim":4,"use_decay":false,"use_multi_decay":true})"},
    {"fnet", Task::masked_lm, R"({"d_model":8,"layers":2,"seq_len":40})"},
};
constexpr std::size_t threads = 4;

std::unique_ptr<Model> make(const Shared& s) { return make_model({s.arch, s.task, 7, 3, s.config}, Init{}); }

// The lengths are 17, 18, 19, …, which are all above the limit for packing in Linear.
Tensor tokens_of(std::size_t thread) {
  return random_tensor(indices({1, 17 + static_cast<std::int64_t>(thread)}, 7), thread + 1);
}

// Calls run(0), run(1), … concurrently.
template <class F>
void at_once(const F& run) {
  std::vector<std::thread> all;
  for (std::size_t k = 0; k < threads; ++k)
    all.emplace_back([&run, k] {
      Context context;
      context.set_threads(1);
      const ContextScope scope(context);
      run(k);
    });
  for (std::thread& thread : all) thread.join();
}

}  // namespace

TEST_CASE("models: concurrent calls of one, with a tape and without, have the bits of calls in turn" *
          doctest::test_suite("threads")) {
  for (const Shared& s : all_shared) {
    CAPTURE(s.arch);
    const auto alone = make(s), shared = make(s);  // the threads fill the caches of `shared`
    std::vector<Tensor> want;
    for (std::size_t k = 0; k < threads; ++k) want.push_back((*alone)(tokens_of(k)));
    at_once([&](std::size_t k) {
      const Tensor tokens = tokens_of(k);
      for (int round = 0; round < 4; ++round) {
        CHECK(same_bits((*shared)(tokens), want[k]));
        if (k != 0) continue;
        const Tape tape;
        CHECK(same_bits((*shared)(tokens).detach(), want[k]));
      }
    });
  }
}

TEST_CASE("models: concurrent token streams of one have the bits of streams in turn" * doctest::test_suite("threads")) {
  for (const Shared& s : all_shared) {
    if (s.task != Task::causal_lm) continue;
    CAPTURE(s.arch);
    const auto alone = make(s), shared = make(s);
    const auto logits = [](const Model& model, std::size_t k) {
      const auto stream = model.stream();
      const Tensor tokens = slice(tokens_of(k), 0, 0, 1);
      std::vector<Tensor> each{reshape(stream->append(slice(tokens, 1, 0, 2)), {-1})};
      for (std::int64_t token : slice(tokens, 1, 2, tokens.size(1)).to_vector<std::int64_t>())
        each.push_back(stream->next(token));
      return concat(each, 0);
    };
    std::vector<Tensor> want;
    for (std::size_t k = 0; k < threads; ++k) want.push_back(logits(*alone, k));
    at_once([&](std::size_t k) { CHECK(same_bits(logits(*shared, k), want[k])); });
  }
}

}  // namespace weft::test
