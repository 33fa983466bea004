// The input and output of classifiers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/tokenizer.h"

namespace weft::detail {

constexpr std::int64_t pad_id = 0;  // the padding of a Model that skips_padding()

// [cls], the first of `ids` and [sep], at most `length` tokens together; [cls] and [sep] only if the tokenizer has
// them.
std::vector<std::int64_t> framed(const SpecialIds& special, std::vector<std::int64_t> ids, std::int64_t length);
// Whether a text is a pair of texts (text_pair).
bool is_pair(const std::string& text);

// A row's tokens: framed(), or for a pair of texts (text_pair) [cls] first [sep] second [sep].
std::vector<std::int64_t> classifier_tokens(const Tokenizer& tokenizer, const std::string& text, std::int64_t length);

// What is between white space.
std::vector<std::string> words_of(const std::string& text);

// Throws an Error if the model ignores token 0 as padding, but the tokenizer has another padding id. `who` names the
// caller.
void check_padding(const Model& model, const Tokenizer& tokenizer, const char* who);

// exp(x_i - max) / Σ_j exp(x_j - max) for one row of logits, of any shape. Throws an Error, with `who` as its source,
// if they are not finite.
std::vector<double> softmax_of(const Tensor& logits, const char* who);

// "1", "2", …: default names of labels.
std::vector<std::string> numbered_labels(std::int64_t count);

// The model's logits for each row of tokens (b, n): (b, classes). Each row is a separate forward pass, because the last
// bits of a product depend on its number of rows. The result of a text thus doesn't depend on the texts beside it.
// Threads share the rows.
Tensor logits_of_rows(const Model& model, const Tensor& tokens);

}  // namespace weft::detail
