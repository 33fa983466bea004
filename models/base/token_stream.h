// Parts that the token streams of several architectures share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/model.h"

namespace weft::detail {

// The model of a token stream. The stream keeps results of earlier tokens, which depend on the model's parameters and
// precision. Neither may change while the stream is in use.
class SteadyModel {
 public:
  explicit SteadyModel(const Model& model) : model_(&model), parameters_(model.parameters()) {}
  // Throws an Error if a parameter was written, or the precision changed, since the first call.
  void check();
  // The versions of all parameters at the first call.
  const std::vector<std::uint64_t>& versions() const noexcept { return versions_; }
  // Whether both belong to the same model.
  bool is_same(const SteadyModel& other) const noexcept { return model_ == other.model_; }

 private:
  const Model* model_;
  NamedParameters parameters_;
  Precision precision_ = Precision::f32;  // at the first call
  std::vector<std::uint64_t> versions_;   // at the first call
};

// One row (d) for each token of one text, in one layer. Copies share their memory until one of them is written.
class TokenRows {
 public:
  // Stores `rows` (n, d) as the rows of the tokens from `at` to `at` + n - 1. Discards all previous rows from `at` on.
  void put(std::int64_t at, const Tensor& rows);
  // Stores the row of one token, which is row `row` of x (…, d). x must be contiguous.
  void put_row(std::int64_t at, const Tensor& x, std::int64_t row);
  // Returns a view (count, d) of the first rows.
  Tensor first(std::int64_t count) const { return slice(rows_, 0, 0, count); }

 private:
  void make_room(std::int64_t at, std::int64_t end, std::int64_t d, DType dtype);

  Tensor rows_;  // (capacity, d)
};

// The maximum number of texts in one step of a stream. A product with so few rows reads the weights once for all rows,
// and computes each row as if it were alone (`dot` in the kernels of gemm, few_rows in dense/quantized_product.cpp).
// With more rows, the order of the additions would be different.
constexpr std::int64_t texts_at_once = 8;

// Throws an Error unless tokens are i64 (texts, n >= 1).
void check_appended(const Tensor& tokens, std::int64_t texts);
// Throws an Error unless there is one text and tokens are i64 (1, 1 <= n <= most).
void check_appended_each(const Tensor& tokens, std::int64_t texts, std::int64_t most);
// Throws an Error unless 0 <= count <= most.
void check_taken_back(std::int64_t count, std::int64_t most);
// Throws an Error unless there is at least one index and every index is from 0 to texts - 1.
void check_selected(const std::vector<std::int64_t>& indices, std::int64_t texts);

// Base class for streams that keep a Text for each text. Derived has Tensor extend(const Tensor& tokens), which
// implements append() for valid tokens. A Text contains everything that depends on the text, including its length.
//
// A Derived that can take back tokens also has most_at_once(text), extend_each(tokens), which implements append_each()
// for two tokens or more, and shorten(text, count), which implements take_back().
template <class Derived, class Text>
class StreamOf : public TokenStream {
 public:
  std::int64_t texts() const noexcept override { return std::ssize(texts_); }

  Tensor append(const Tensor& tokens) override {
    return guard_memory("generate", [&] {
      const NoGrad suspended;
      check_appended(tokens, texts());
      steady_.check();
      revocable_ = 0;
      return static_cast<Derived&>(*this).extend(tokens);
    });
  }

  std::int64_t most_at_once() const noexcept override {
    if (texts() != 1) return 1;
    return std::min(texts_at_once, static_cast<const Derived&>(*this).most_at_once(texts_.front()));
  }

  Tensor append_each(const Tensor& tokens) override {
    return guard_memory("generate", [&] {
      const NoGrad suspended;
      check_appended_each(tokens, texts(), most_at_once());
      steady_.check();
      revocable_ = 0;
      auto& derived = static_cast<Derived&>(*this);
      if (tokens.size(1) == 1) return derived.extend(tokens);
      Tensor logits = derived.extend_each(tokens);
      revocable_ = tokens.size(1) - 1;
      return logits;
    });
  }

  void take_back(std::int64_t count) override {
    check_taken_back(count, revocable_);
    static_cast<Derived&>(*this).shorten(texts_.front(), count);
    revocable_ -= count;
  }

  std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const override {
    return guard_memory("generate", [&] {
      check_selected(texts, this->texts());
      auto stream = std::make_unique<Derived>(static_cast<const Derived&>(*this));
      stream->texts_.clear();
      for (std::int64_t i : texts) stream->texts_.push_back(texts_[static_cast<std::size_t>(i)]);
      stream->revocable_ = 0;
      return stream;
    });
  }

  void join(TokenStream& other) override {
    guard_memory("generate", [&] {
      auto* stream = dynamic_cast<Derived*>(&other);
      if (stream == nullptr || stream == this || !steady_.is_same(stream->steady_))
        throw Error("[generate] expected another token stream of the same model");
      stream->steady_.check();
      texts_.reserve(texts_.size() + stream->texts_.size());
      for (Text& text : stream->texts_) {
        static_cast<Derived&>(*this).welcome(text);
        texts_.push_back(std::move(text));
      }
      stream->texts_.clear();
      revocable_ = 0;
    });
  }

 protected:
  std::int64_t most_at_once(const Text&) const noexcept { return 1; }
  Tensor extend_each(const Tensor&) { return {}; }
  void shorten(Text&, std::int64_t) noexcept {}
  // Prepares a text of another stream for this one. Must not throw.
  void welcome(Text&) noexcept {}

  const SteadyModel& steady() const noexcept { return steady_; }

  // Starts with one empty text.
  StreamOf(const Model& model, Text empty) : texts_{std::move(empty)}, steady_(model) {}

  std::vector<Text> texts_;

 private:
  std::int64_t revocable_ = 0;  // number of tokens that take_back() may remove
  SteadyModel steady_;
};

}  // namespace weft::detail
