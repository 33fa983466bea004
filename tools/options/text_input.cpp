#include "options/text_input.h"

#include <filesystem>

TextInput::TextInput(const std::string& path) : path_(path) {
  std::error_code ignored;  // reading reports the error
  if (std::filesystem::is_fifo(path, ignored)) piped_ = std::make_shared<const std::string>(weft::read_text(path));
}

weft::Texts TextInput::texts() const {
  if (!piped_) return weft::text_file(path_);
  return [text = piped_](const auto& use) { use(*text); };
}

weft::EncodedText TextInput::encoded(const weft::Tokenizer& tokenizer, const std::string& cache) const {
  return piped_ ? weft::EncodedText(*piped_, tokenizer) : weft::EncodedText::of_file(path_, tokenizer, cache);
}
