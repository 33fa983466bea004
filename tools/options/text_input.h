// A text to train on, which may be read more than once.
#pragma once
#include <weft/encoded_text.h>

#include <memory>
#include <string>

class TextInput {
 public:
  // Reads a pipe right away, because it can't be read twice. Error if that fails.
  explicit TextInput(const std::string& path);

  // The text in pieces. Error if it can't be read, is empty or is not UTF-8.
  weft::Texts texts() const;
  // The text's token ids; those of a long file are kept in the file `cache`.
  weft::EncodedText encoded(const weft::Tokenizer& tokenizer, const std::string& cache) const;

 private:
  std::string path_;
  std::shared_ptr<const std::string> piped_;  // the text, if it came from a pipe
};
