// TNN token by token: what a token changes, and streams against the full forward pass.
#include <doctest/doctest.h>

#include <algorithm>

#include "tnn_support.h"

namespace weft::test {

TEST_CASE("TNN language model: a token doesn't change the logits before it, also beyond the training length") {
  for (const char* more : {R"("gamma":0.95)", R"("par_type":3)",
                           R"("act_type":"exp","normalize":true,"use_decay":false,"use_multi_decay":true)"}) {
    const auto model = small_model(Task::causal_lm, std::string(R"("seq_len":4,)") + more);
    const std::int64_t n = 11;
    const Tensor tokens = random_tokens(1, n), before = (*model)(tokens);
    for (std::int64_t j = 0; j < n; ++j) {
      auto changed = tokens.to_vector<std::int64_t>();
      changed[static_cast<std::size_t>(j)] = (changed[static_cast<std::size_t>(j)] + 1) % 7;
      const Tensor after = (*model)(Tensor::from(changed, {1, n}));
      CHECK(max_difference(slice(before, 1, 0, j), slice(after, 1, 0, j)) <= 1e-5);
      for (std::int64_t i = j; i < n; ++i)
        CHECK(max_difference(slice(before, 1, i, i + 1), slice(after, 1, i, i + 1)) > 1e-5);
    }
  }
}

TEST_CASE("TNN token stream: the logits of the full forward pass, past the training length") {
  const std::int64_t n = 150;  // the history grows twice
  for (const char* more : {R"("gamma":0.95)", R"("par_type":2)", R"("act_type":"exp","normalize":true,"use_norm":true)",
                           R"("use_decay":false,"use_multi_decay":true,"prenorm":false,"norm_type":"simplermsnorm")"
                           R"(,"bias":false)"})
    for (DType dtype : {DType::f64, DType::f32}) {
      const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(more)}, {Random(5), dtype});
      const bool rerun = std::string(more).find("par_type") != std::string::npos;
      const std::int64_t length = rerun ? 9 : n;
      const Tensor tokens = random_tokens(1, length), full = (*model)(tokens);
      const auto ids = tokens.to_vector<std::int64_t>();
      const auto stream = model->stream();
      double worst = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const Tensor logits = stream->next(ids[static_cast<std::size_t>(i)]);
        // With par_type 2 the full pass is that over the tokens so far.
        const Tensor pass = rerun ? (*model)(slice(tokens, 1, 0, i + 1)) : full;
        worst = std::max(worst, max_difference(logits, reshape(slice(pass, 1, i, i + 1), {7})));
      }
      CHECK(worst <= 1e-5);
    }
  CHECK_THROWS_AS(small_model(Task::classifier)->stream(), Error);
  CHECK_THROWS_AS(small_model(Task::masked_lm)->stream(), Error);
}

TEST_CASE("TNN: two token streams of one model don't meet; nothing is recorded") {
  const auto model = small_model(Task::causal_lm);
  const auto a = model->stream(), b = model->stream();
  const Tensor first = a->next(3);
  (void)a->next(1);
  Tape tape;
  CHECK(max_difference(b->next(3), first) == 0);
  CHECK(tape.records() == 0);
}

}  // namespace weft::test
