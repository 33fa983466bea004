// What a classifier reads and says.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/tokenizer.h"

namespace weft::detail {

constexpr std::int64_t pad_id = 0;  // what Model takes for padding if it skips_padding()

// [cls], the first of `ids` and [sep], as far as the tokenizer has the two: at most `length`.
std::vector<std::int64_t> framed(const SpecialIds& special, std::vector<std::int64_t> ids, std::int64_t length);
std::vector<std::int64_t> classifier_tokens(const Tokenizer& tokenizer, const std::string& text, std::int64_t length);

// Error if the model leaves token 0 out as padding, and the tokenizer's padding is another. `who` names what asks.
void check_padding(const Model& model, const Tokenizer& tokenizer, const char* who);

// exp(x_i - max) / Σ_j exp(x_j - max) of logits, a row of any shape. Error, of `who`, if they are not finite.
std::vector<double> softmax_of(const Tensor& logits, const char* who);

// "1", "2", …: the names of labels that have none.
std::vector<std::string> numbered_labels(std::int64_t count);

// The model's logits for each row of tokens (b, n): (b, classes). Each is a forward pass of its own, as a product's last
// bits depend on how many rows it has: what a text gives doesn't depend on those beside it. Threads share the rows.
Tensor logits_of_rows(const Model& model, const Tensor& tokens);

}  // namespace weft::detail
