// What the architectures' token streams share.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/sequence.h"
#include "weft/detail/out_of_memory.h"
#include "weft/model.h"

namespace weft::detail {

// A token stream's model: what the stream keeps of earlier tokens is what its parameters made of them, in its precision.
class SteadyModel {
 public:
  explicit SteadyModel(const Model& model) : model_(&model), parameters_(model.parameters()) {}
  // Error if a parameter was written, or the precision set to another, since the first call.
  void check();

 private:
  const Model* model_;
  NamedParameters parameters_;
  Precision precision_ = Precision::f32;  // at the first call
  std::vector<std::uint64_t> versions_;   // at the first call
};

// What one text's tokens left in a layer, a row (d) each. Copies share their memory until one of them is written.
class TokenRows {
 public:
  // rows (n, d) of tokens at … at + n - 1; what was there from `at` on is lost.
  void put(std::int64_t at, const Tensor& rows);
  // The same of one token: row `row` of x (…, d), contiguous.
  void put_row(std::int64_t at, const Tensor& x, std::int64_t row);
  // (count, d), a view.
  Tensor first(std::int64_t count) const { return slice(rows_, 0, 0, count); }

 private:
  void make_room(std::int64_t at, std::int64_t end, std::int64_t d, DType dtype);

  Tensor rows_;  // (capacity, d)
};

// Texts that a stream's step takes at once. Products of so few rows read the weights once for all of them, and each row is
// computed as if it were alone (`dot` of the kernels of gemm, few_rows of dense/quantized_product.cpp); with more rows sums
// are combined otherwise.
constexpr std::int64_t texts_at_once = 8;

// What a stream is asked for: Error unless tokens are i64 (texts, n >= 1).
void check_appended(const Tensor& tokens, std::int64_t texts);
// Error unless there are indices, each one of a text.
void check_selected(const std::vector<std::int64_t>& indices, std::int64_t texts);

// Texts that each keep a Text of what was read. Derived has Tensor extend(const Tensor& tokens): what append() does, of
// tokens that fit.
template <class Derived, class Text>
class StreamOf : public TokenStream {
 public:
  std::int64_t texts() const noexcept override { return std::ssize(texts_); }

  Tensor append(const Tensor& tokens) override {
    return guard_memory("generate", [&] {
      const NoGrad suspended;
      check_appended(tokens, texts());
      steady_.check();
      return static_cast<Derived&>(*this).extend(tokens);
    });
  }

  std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const override {
    return guard_memory("generate", [&] {
      check_selected(texts, this->texts());
      auto stream = std::make_unique<Derived>(static_cast<const Derived&>(*this));
      stream->texts_.clear();
      for (std::int64_t i : texts) stream->texts_.push_back(texts_[static_cast<std::size_t>(i)]);
      return stream;
    });
  }

 protected:
  // One text, empty.
  StreamOf(const Model& model, Text empty) : texts_{std::move(empty)}, steady_(model) {}

  std::vector<Text> texts_;

 private:
  SteadyModel steady_;
};

}  // namespace weft::detail
