// Hugging Face's tokenizer of FNet: spiece.model, tokenizer.json (as its package tokenizers has it) and tokenizer_config.json.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_set.h"
#include "weft/checkpoint.h"

namespace weft::detail::huggingface {

inline const char* const pieces_name = "spiece.model";
inline const char* const tokenizer_name = "tokenizer.json";
inline const char* const tokenizer_config_name = "tokenizer_config.json";

// The folder's, for a model of so many symbols; null if it has neither spiece.model nor, as transformers 5 writes it,
// tokenizer.json alone. Error, naming the file, if it is of another kind than FNet's.
// Notes of what differs are added.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& folder, std::int64_t vocabulary,
                                                std::vector<std::string>& notes);

// All three files, if the tokenizer is of this kind. Notes of what isn't written are added.
void write_tokenizer(FileSet& files, const Tokenizer& tokenizer, std::int64_t length, std::vector<std::string>& notes);

}  // namespace weft::detail::huggingface
