// The input and output of classifiers.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/tokenizer.h"

namespace weft::detail {

constexpr std::int64_t pad_id = 0;  // the padding of a model for which skips_padding() is true

// Returns [cls], `ids` and [sep]. The ids are truncated so that the result has at most `length` tokens. [cls] and [sep]
// are included only if the tokenizer has them.
std::vector<std::int64_t> framed(const SpecialIds& special, std::vector<std::int64_t> ids, std::int64_t length);
// Whether a text is a pair of texts (text_pair).
bool is_pair(const std::string& text);

// Returns a row's tokens. For a single text these are the tokens of framed(). For a pair of texts (text_pair) they are
// [cls] first [sep] second [sep]. If the row is truncated to `length` tokens, adds 1 to `truncated`.
std::vector<std::int64_t> classifier_tokens(const Tokenizer& tokenizer, const std::string& text, std::int64_t length,
                                            std::atomic<std::int64_t>* truncated = nullptr);
// Does the same as encode_rows(), and adds the number of truncated rows to `truncated`.
Tensor encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest,
                   std::int64_t pad_to, std::atomic<std::int64_t>* truncated);

// Returns the words, which are separated by white space.
std::vector<std::string> words_of(const std::string& text);

// Throws an Error if the model ignores token 0 as padding, but the tokenizer has a different padding id. `who` names
// the caller.
void check_padding(const Model& model, const Tokenizer& tokenizer, const char* who);

// Returns exp(x_i - max) / Σ_j exp(x_j - max) for one row of logits, of any shape. Throws an Error if the logits are
// not finite. The message names `who` as the source.
std::vector<double> softmax_of(const Tensor& logits, const char* who);

// Returns "1", "2", …, the default names of labels.
std::vector<std::string> numbered_labels(std::int64_t count);

// Returns the model's logits (b, classes) for the rows of tokens (b, n). Each row has a separate forward pass, because
// the last bits of a product depend on its number of rows. The result of a text thus doesn't depend on the other texts
// of the batch. Several threads compute rows in parallel.
Tensor logits_of_rows(const Model& model, const Tensor& tokens);

}  // namespace weft::detail
