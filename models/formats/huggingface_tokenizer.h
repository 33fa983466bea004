// Hugging Face's tokenizer for FNet: spiece.model, tokenizer.json (the format of the tokenizers package) and
// tokenizer_config.json.
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

// Reads the tokenizer of the folder for a model of `vocabulary` symbols. Returns null if the folder has neither
// spiece.model nor tokenizer.json. (transformers 5 writes only tokenizer.json.) Throws an Error that names the file if
// it is not a tokenizer of FNet's kind. Adds notes about differences.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& folder, std::int64_t vocabulary,
                                                std::vector<std::string>& notes);

// Writes the files if the tokenizer is of this kind. Adds notes about everything that isn't written.
void write_tokenizer(FileSet& files, const Tokenizer& tokenizer, std::int64_t length, std::vector<std::string>& notes);

}  // namespace weft::detail::huggingface
