// Tests of token streams: several tokens per call, and several texts.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "op_table.h"
#include "random_parameters.h"
#include "sweep.h"
#include "weft/context.h"
#include "weft/model.h"
#include "weft/profile.h"
#include "weft/quantize.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr struct {
  const char *arch, *config;
} all_streams[] = {
    {"gmlp", R"({"d_model":6,"d_ffn":8,"layers":2,"seq_len":9})"},
    {"gmlp", R"({"d_model":6,"d_ffn":2,"layers":2,"seq_len":8,"tied":true})"},
    {"gmlp", R"({"d_model":20,"d_ffn":72,"layers":2,"seq_len":70,"positions":false})"},
    {"gmlp", R"({"d_model":6,"layers":1,"seq_len":1})"},
    {"gmlp", R"({"d_model":6,"layers":0,"seq_len":4})"},
    {"tnn", R"({"d_model":6,"layers":2,"heads":2,"expand_ratio":1.34,"rpe_dim":4,"gamma":0.95})"},
    {"tnn", R"({"d_model":6,"layers":2,"rpe_dim":4,"act_type":"exp","normalize":true,"use_norm":true,"gamma":0.9})"},
    {"tnn", R"({"d_model":20,"layers":2,"use_decay":false,"use_multi_decay":true,"prenorm":false,"gamma":0.5,)"
            R"("norm_type":"simplermsnorm","bias":false})"},
    {"tnn", R"({"d_model":6,"layers":1,"use_decay":false,"rpe_residual":true})"},
    {"tnn", R"({"d_model":6,"layers":1,"gamma":0})"},
    {"tnn", R"({"d_model":6,"layers":0})"},
    {"tnn", R"({"d_model":6,"layers":1,"norm_type":"simplermsnorm","final_norm":"layernorm","tied":false})"},
    {"tnn", R"({"d_model":6,"layers":1,"par_type":2})"},
    {"tnn", R"({"d_model":6,"layers":1,"par_type":3})"},
    {"tnn", R"({"d_model":6,"layers":2,"heads":2,"exponentials":3})"},
    {"tnn", R"({"d_model":20,"layers":1,"exponentials":1,"prenorm":false})"},
    {"tnn", R"({"d_model":6,"layers":2,"par_type":4,"gamma":0.9})"},
};

std::unique_ptr<Model> made(const char* arch, const char* config, DType dtype) {
  auto model = make_model({arch, Task::causal_lm, 7, 0, config}, {Random(5), dtype});
  randomize(model->parameters(), 0.7);
  return model;
}

Ids random_ids(std::int64_t n, std::uint64_t seed = 11) {
  return random_tensor(indices({n}, 7), seed).to_vector<std::int64_t>();
}

Tensor one_row(const Ids& ids) { return Tensor::from(ids, {1, std::ssize(ids)}); }
Tensor one_column(const Ids& ids) { return Tensor::from(ids, {std::ssize(ids), 1}); }
Ids part(const Ids& ids, std::int64_t begin, std::int64_t end) { return {ids.begin() + begin, ids.begin() + end}; }

// Token i of one of several texts.
std::int64_t token_of(std::int64_t text, std::int64_t i) { return (text * text + 3 * i + text * i) % 7; }

Tensor row_of(const Tensor& logits, std::int64_t row) { return slice(logits, 0, row, row + 1); }

}  // namespace

TEST_CASE(
    "token streams: a call with many tokens, at any length, equals calls with single tokens, also for later tokens") {
  for (const auto& [arch, config] : all_streams)
    for (const DType dtype : {DType::f64, DType::f32}) {
      const std::string options_of_model = config;
      CAPTURE(options_of_model);
      const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
      const auto model = made(arch, config, dtype);
      const std::int64_t all = model->why_stream_is_slow().empty() ? 240 : 22;
      const Ids ids = random_ids(all);
      const auto one_by_one = model->stream();
      std::vector<Tensor> each;
      double size = 1;
      for (std::int64_t id : ids) {
        each.push_back(reshape(one_by_one->next(id), {1, 7}));
        size = std::max(size, max_abs(each.back()));
      }
      for (const std::int64_t n : {1, 2, 8, 9, 10, 13, 17, 31, 64, 65, 71, 127, 200}) {
        if (n > std::min<std::int64_t>(all, sweep(240, 71))) break;
        CAPTURE(n);
        const auto at_once = model->stream();
        const Tensor first = at_once->append(one_row(part(ids, 0, n)));
        CHECK(first.shape() == Shape{1, 7});
        double worst = max_difference(first, each[static_cast<std::size_t>(n - 1)]);
        for (std::int64_t i = n; i < std::min(n + sweep(40, 10), all); ++i) {
          const auto at = static_cast<std::size_t>(i);
          worst = std::max(worst, max_difference(at_once->append(one_row({ids[at]})), each[at]));
        }
        CHECK(worst <= tolerance * size);
      }
    }
}

TEST_CASE("token streams: tokens in pieces of any length") {
  for (const auto& [arch, config] : all_streams) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = made(arch, config, DType::f64);
    const Ids ids = random_ids(150);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const auto pieces = model->stream(), one_by_one = model->stream();
      std::int64_t done = 0;
      for (const std::int64_t n : random_tensor(indices({12}, 12), seed).to_vector<std::int64_t>()) {
        Tensor logits;
        for (std::int64_t i = done; i <= done + n; ++i) logits = one_by_one->next(ids[static_cast<std::size_t>(i)]);
        const Tensor piece = pieces->append(one_row(part(ids, done, done + n + 1)));
        CHECK(max_difference(reshape(piece, {7}), logits) <= 1e-12 * std::max(1.0, max_abs(logits)));
        done += n + 1;
      }
    }
  }
}

// Appends tokens in groups, of which some are taken back at once, until `all` has been appended. Compares each row of
// logits with `each`, the results of single tokens.
void check_tried_tokens(TokenStream& stream, const Ids& all, const std::vector<Tensor>& each, std::int64_t done,
                        std::uint64_t seed) {
  const Random random(seed);
  for (std::uint64_t i = 0; done < std::ssize(all); ++i) {
    const std::int64_t most = std::min(stream.most_at_once(), std::ssize(all) - done);
    CHECK(most >= 1);
    const auto up_to = [&](std::int64_t n, std::uint64_t at) {
      return static_cast<std::int64_t>(random.uniform(at) * static_cast<double>(n + 1));
    };
    const std::int64_t kept = 1 + up_to(most - 1, 2 * i), wrong = up_to(stream.most_at_once() - kept, 2 * i + 1);
    Ids tried = part(all, done, done + kept);
    for (std::int64_t j = 0; j < wrong; ++j) tried.push_back((3 * j + done) % 7);
    const Tensor logits = stream.append_each(one_row(tried));
    REQUIRE(logits.shape() == Shape{kept + wrong, 7});
    for (std::int64_t j = 0; j < kept; ++j)
      CHECK(same_bits(row_of(logits, j), each[static_cast<std::size_t>(done + j)]));
    stream.take_back(wrong);
    done += kept;
  }
}

TEST_CASE("token streams: tokens that are tried and taken back have the same bits as single tokens") {
  enum { f32, bf16, int8, int4 };
  for (const auto& [arch, config] : all_streams)
    for (const int weights : {f32, bf16, int8, int4}) {
      const std::string options_of_model = config;
      CAPTURE(options_of_model);
      CAPTURE(weights);
      const auto model = made(arch, config, DType::f32);
      if (weights == int8) quantize(*model, Quantization::int8);
      if (weights == int4) quantize(*model, Quantization::int4);
      if (weights != f32) model->set_precision(Precision::bf16);
      const bool is_slow = !model->why_stream_is_slow().empty();
      const Ids ids = random_ids(is_slow ? 12 : weights == f32 ? sweep(900, 200) : 150);
      const auto one_by_one = model->stream();
      std::vector<Tensor> each;
      for (std::int64_t id : ids) each.push_back(one_by_one->append(one_row({id})));
      for (const std::uint64_t seed : {1, 2}) {
        const auto alone = model->stream();
        check_tried_tokens(*alone, ids, each, 0, seed);
        const auto after_prompt = model->stream();
        for (std::int64_t id : part(ids, 0, 5)) after_prompt->append(one_row({id}));
        const auto copy = after_prompt->select({0});  // shares memory with the stream
        check_tried_tokens(*after_prompt, ids, each, 5, seed);
        check_tried_tokens(*copy, ids, each, 5, seed + 7);
      }
    }
}

TEST_CASE("token streams: how many tokens can be tried and taken back") {
  const auto model = made("gmlp", R"({"d_model":6,"d_ffn":8,"layers":2,"seq_len":9})", DType::f64);
  const auto stream = model->stream();
  CHECK(stream->most_at_once() == 8);
  const auto two = stream->select({0, 0});
  CHECK(two->most_at_once() == 1);
  CHECK_THROWS_WITH_AS(two->append_each(one_row({1})), doctest::Contains("one text"), Error);
  CHECK_THROWS_WITH_AS(stream->append_each(one_row({1, 2, 3, 4, 5, 6, 0, 1, 2})), doctest::Contains("at most 8"),
                       Error);
  CHECK_THROWS_AS(stream->append_each(one_row({1, 7})), Error);  // not in the vocabulary
  CHECK_THROWS_AS(stream->take_back(1), Error);
  stream->append_each(one_row({1, 2, 3, 4, 5, 6}));
  CHECK(stream->most_at_once() == 3);
  CHECK_THROWS_WITH_AS(stream->take_back(6), doctest::Contains("0 to 5"), Error);  // the first token stays
  CHECK_THROWS_AS(stream->take_back(-1), Error);
  stream->take_back(3);
  CHECK_THROWS_WITH_AS(stream->take_back(3), doctest::Contains("0 to 2"), Error);
  const auto copy = stream->select({0});
  CHECK_THROWS_AS(copy->take_back(1), Error);  // its tokens are those of another stream
  stream->append(one_row({1}));
  CHECK_THROWS_AS(stream->take_back(1), Error);
  CHECK_NOTHROW(stream->take_back(0));
  const auto slow = made("tnn", R"({"d_model":6,"layers":1,"par_type":3})", DType::f64)->stream();
  CHECK(slow->most_at_once() == 1);
}

TEST_CASE("token streams: a prompt is one forward pass, and its logits are those of that pass") {
  for (const auto& [arch, config] : all_streams)
    for (const DType dtype : {DType::f64, DType::f32}) {
      const std::string options_of_model = config;
      CAPTURE(options_of_model);
      const auto model = made(arch, config, dtype);
      const std::int64_t longest = model->max_length() > 0 ? model->max_length() : 100;
      for (const std::int64_t n : {longest, std::max<std::int64_t>(1, longest - 2)}) {
        const Tensor tokens = one_row(random_ids(n));
        const auto linears = [&](auto body) {
          const NoGrad suspended;
          const Profile profile;
          body();
          const auto found = profile.ops().find("linear");
          return found == profile.ops().end() ? 0 : found->second.calls;
        };
        Tensor full, last;
        const auto stream = model->stream();
        (void)(*model)(tokens);                 // creates the state that the model keeps from now on,
        (void)model->stream()->append(tokens);  // including state that all its streams share
        const std::int64_t forward = linears([&] { full = (*model)(tokens); });
        CHECK(linears([&] { last = stream->append(tokens); }) == forward);
        full = reshape(slice(full, 1, n - 1, n), {1, 7});
        CHECK(max_difference(last, full) <= (dtype == DType::f64 ? 1e-12 : 1e-5) * std::max(1.0, max_abs(full)));
      }
    }
}

// Uses f32 with small sizes, and with common sizes, for which products are split into pieces.
TEST_CASE("token streams: a text gives the same bits alone and together with other texts") {
  struct Case {
    const char *arch, *config;
  };
  std::vector<Case> cases;
  for (const auto& [arch, config] : all_streams) cases.push_back({arch, config});
  cases.push_back({"gmlp", R"({"d_model":130,"layers":1,"seq_len":30})"});
  cases.push_back({"tnn", R"({"d_model":130,"layers":1})"});
  for (const Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const Case& c : cases) {
      const char* const config = c.config;
      const std::string options_of_model = config;
      CAPTURE(options_of_model);
      const auto model = made(c.arch, config, DType::f32);
      const auto prompt = one_row(random_ids(5));
      for (const std::int64_t count : {2, 3, 9, 19}) {
        CAPTURE(count);
        const std::int64_t steps = !model->why_stream_is_slow().empty() ? 4 : count == 3 ? 70 : 14;
        std::vector<std::unique_ptr<TokenStream>> alone;
        for (std::int64_t text = 0; text < count; ++text) {
          alone.push_back(model->stream());
          (void)alone.back()->append(prompt);
        }
        const auto prompted = model->stream();
        (void)prompted->append(prompt);
        auto together = prompted->select(Ids(static_cast<std::size_t>(count), 0));
        Ids left(static_cast<std::size_t>(count));
        std::iota(left.begin(), left.end(), 0);
        bool same = true;
        for (std::int64_t i = 0; i < steps; ++i) {
          if (i == 2 || i == 9) {  // in a different order, and without one text
            Ids chosen(left.size());
            std::iota(chosen.rbegin(), chosen.rend(), 0);
            chosen.erase(chosen.begin() + 1);
            together = together->select(chosen);
            CHECK(together->texts() == std::ssize(chosen));
            Ids now;
            for (std::int64_t k : chosen) now.push_back(left[static_cast<std::size_t>(k)]);
            left = now;
            if (left.size() < 2) break;
          }
          Ids tokens;
          for (std::int64_t text : left) tokens.push_back(token_of(text, i));
          const Tensor logits = together->append(one_column(tokens));
          CHECK(logits.shape() == Shape{std::ssize(left), 7});
          for (std::size_t row = 0; row < left.size(); ++row) {
            const Tensor own = alone[static_cast<std::size_t>(left[row])]->append(one_row({tokens[row]}));
            same = same && same_bits(raw::contiguous(row_of(logits, static_cast<std::int64_t>(row))), own);
          }
        }
        CHECK(same);
      }
    }
  }
}

// Text k joins before step 3k with a prompt of k + 1 tokens, and some texts leave at steps 20 and 41.
TEST_CASE("token streams: texts that join and leave at any time give the same bits as alone") {
  for (const Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const auto& [arch, config] : all_streams) {
      const std::string options_of_model = config;
      CAPTURE(options_of_model);
      const auto model = made(arch, config, DType::f32);
      const std::int64_t most = model->why_stream_is_slow().empty() ? 11 : 3, steps = most > 3 ? 90 : 24;
      std::vector<std::unique_ptr<TokenStream>> alone;
      std::unique_ptr<TokenStream> together;
      Ids left;
      bool same = true;
      for (std::int64_t i = 0; i < steps; ++i) {
        if (const auto k = std::ssize(alone); k < most && i == 3 * k) {
          auto newcomer = model->stream();
          alone.push_back(model->stream());
          for (TokenStream* stream : {newcomer.get(), alone.back().get()})
            (void)stream->append(one_row(random_ids(k + 1, static_cast<std::uint64_t>(k))));
          if (together) together->join(*newcomer);
          else together = std::move(newcomer);
          left.push_back(k);
        }
        if (i == 20 || i == 41) {
          Ids rows;
          for (std::int64_t row = 0; row < std::ssize(left); ++row)
            if (row % 3 != 1) rows.push_back(row);
          together = together->select(rows);
          for (std::int64_t& row : rows) row = left[static_cast<std::size_t>(row)];
          left = rows;
        }
        REQUIRE(together->texts() == std::ssize(left));
        Ids tokens;
        for (std::int64_t text : left) tokens.push_back(token_of(text, i));
        const Tensor logits = together->append(one_column(tokens));
        for (std::size_t row = 0; row < left.size(); ++row) {
          const Tensor own = alone[static_cast<std::size_t>(left[row])]->append(one_row({tokens[row]}));
          same = same && same_bits(raw::contiguous(row_of(logits, static_cast<std::int64_t>(row))), own);
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("token streams: joined texts can read several tokens at once") {
  for (const auto& [arch, config] : all_streams) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = made(arch, config, DType::f32);
    const auto a = model->stream(), b = model->stream(), together = model->stream(), other = model->stream();
    for (TokenStream* stream : {a.get(), together.get()}) (void)stream->append(one_row({1, 2, 3}));
    for (TokenStream* stream : {b.get(), other.get()}) (void)stream->append(one_row({6, 5, 4, 3, 2}));
    together->join(*other);
    const Tensor logits = together->append(Tensor::from<std::int64_t>({4, 5, 6, 0, 1, 2}, {2, 3}));
    CHECK(same_bits(raw::contiguous(row_of(logits, 0)), a->append(one_row({4, 5, 6}))));
    CHECK(same_bits(raw::contiguous(row_of(logits, 1)), b->append(one_row({0, 1, 2}))));
    const Tensor more = together->append(one_column({1, 2}));
    CHECK(same_bits(raw::contiguous(row_of(more, 0)), a->append(one_row({1}))));
    CHECK(same_bits(raw::contiguous(row_of(more, 1)), b->append(one_row({2}))));
  }
}

TEST_CASE("token streams: only another stream of the same model can join") {
  const char* const same_model = "[generate] expected another token stream of the same model";
  for (const auto& [arch, config] : all_streams) {
    const auto model = made(arch, config, DType::f32), equal = made(arch, config, DType::f32);
    const auto stream = model->stream(), other = equal->stream();
    CHECK_THROWS_WITH_AS(stream->join(*other), same_model, Error);
    CHECK_THROWS_WITH_AS(stream->join(*stream), same_model, Error);
    CHECK(stream->texts() == 1);
    CHECK(other->texts() == 1);
  }
  struct Unjoinable : TokenStream {
    std::int64_t texts() const noexcept override { return 1; }
    Tensor append(const Tensor& tokens) override { return tokens; }
    std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>&) const override { return nullptr; }
  } one, two;
  CHECK_THROWS_WITH_AS(one.join(two), "[generate] the token streams of this architecture can't be joined", Error);
}

TEST_CASE("token streams: several tokens for each of several texts, and selected texts are independent") {
  for (const auto& [arch, config] : all_streams) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = made(arch, config, DType::f32);
    const auto a = model->stream(), b = model->stream(), prompted = model->stream();
    for (TokenStream* stream : {a.get(), b.get(), prompted.get()}) (void)stream->append(one_row({1, 2, 3}));
    const auto both = prompted->select({0, 0}), second = prompted->select({0});
    const Tensor logits = both->append(Tensor::from<std::int64_t>({4, 5, 6, 0, 1, 2}, {2, 3}));
    CHECK(same_bits(raw::contiguous(row_of(logits, 0)), a->append(one_row({4, 5, 6}))));
    CHECK(same_bits(raw::contiguous(row_of(logits, 1)), b->append(one_row({0, 1, 2}))));
    // Each text continues as if the others did not exist.
    const auto again = both->select({1, 1, 0});
    const Tensor more = again->append(one_column({3, 4, 5}));
    const auto b_too = b->select({0});
    CHECK(same_bits(raw::contiguous(row_of(more, 0)), b->append(one_row({3}))));
    CHECK(same_bits(raw::contiguous(row_of(more, 1)), b_too->append(one_row({4}))));
    CHECK(same_bits(raw::contiguous(row_of(more, 2)), a->append(one_row({5}))));
    CHECK(same_bits(raw::contiguous(row_of(both->append(one_column({5, 3})), 1)), raw::contiguous(row_of(more, 0))));
    const auto fresh = model->stream();
    (void)fresh->append(one_row({1, 2, 3}));
    const Tensor want = fresh->next(6);
    CHECK(same_bits(prompted->next(6), want));
    CHECK(same_bits(second->next(6), want));
  }
}

TEST_CASE("token streams: refused calls leave the texts unchanged") {
  for (const auto& [arch, config] : all_streams) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = made(arch, config, DType::f32);
    const auto stream = model->stream()->select({0, 0}), other = model->stream()->select({0, 0});
    for (std::int64_t i = 0; i < 12; ++i) {
      CHECK_THROWS_AS(stream->append(one_column({1, 7})), Error);
      CHECK_THROWS_AS(stream->append(one_column({-1, 1})), Error);
      CHECK_THROWS_AS(stream->append(Tensor::from<std::int64_t>({1, 2, 3, 7}, {2, 2})), Error);
      CHECK_THROWS_AS(stream->next(1), Error);
      CHECK(same_bits(stream->append(one_column({i % 7, 6 - i % 7})), other->append(one_column({i % 7, 6 - i % 7}))));
    }
    CHECK_THROWS_WITH_AS(stream->append(one_column({1})), "[generate] expected tokens i64 (2, n >= 1), got i64 (1, 1)",
                         Error);
    CHECK_THROWS_WITH_AS(stream->append(Tensor::zeros({2, 1})),
                         "[generate] expected tokens i64 (2, n >= 1), got f32 (2, 1)", Error);
    CHECK_THROWS_AS(stream->append(Tensor::zeros({2, 0}, DType::i64)), Error);
    CHECK_THROWS_AS(stream->append(Tensor::zeros({2}, DType::i64)), Error);
    CHECK_THROWS_WITH_AS(stream->append(Tensor()),
                         "[generate] expected tokens i64 (2, n >= 1), got an undefined tensor", Error);
    CHECK_THROWS_WITH_AS((void)stream->select({0, 2}), "[generate] expected text indices from 0 to 1, got 2", Error);
    CHECK_THROWS_AS((void)stream->select({-1}), Error);
    CHECK_THROWS_WITH_AS((void)stream->select({}), "[generate] expected at least one text index, got none", Error);
    CHECK(stream->texts() == 2);
  }
}

TEST_CASE("token streams: a tape records nothing") {
  for (const auto& [arch, config] : all_streams) {
    const auto model = made(arch, config, DType::f32);
    Tape tape;
    const auto stream = model->stream();
    (void)stream->append(one_row({1, 2, 3}));
    (void)stream->select({0, 0})->append(one_column({1, 2}));
    (void)stream->next(3);
    CHECK(tape.records() == 0);
  }
}

TEST_CASE("token streams: a slow stream states the reason") {
  CHECK(made("gmlp", "{}", DType::f32)->why_stream_is_slow().empty());
  CHECK(made("tnn", "{}", DType::f32)->why_stream_is_slow().empty());
  CHECK(made("tnn", R"({"par_type":2})", DType::f32)->why_stream_is_slow().rfind("with par_type 2 ", 0) == 0);
  CHECK(made("tnn", R"({"par_type":4})", DType::f32)->why_stream_is_slow().empty());
  CHECK(made("tnn", R"({"par_type":2,"exponentials":2})", DType::f32)->why_stream_is_slow().empty());
  CHECK(made("tnn", R"({"par_type":3})", DType::f32)->why_stream_is_slow().rfind("with par_type 3 ", 0) == 0);
}

}  // namespace weft::test
