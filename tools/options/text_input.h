// A text to train on. It can be read more than once.
#pragma once
#include <weft/encoded_text.h>

#include <memory>
#include <string>

class TextInput {
 public:
  // If the path is a pipe, reads the text immediately, because it can't be read twice. Throws an Error if that fails.
  explicit TextInput(const std::string& path);

  // Returns the text in pieces. Throws an Error if the text can't be read, is empty or is not UTF-8.
  weft::Texts texts() const;
  // Returns the token ids of the text. The ids of a long file are stored in the file `cache`.
  weft::EncodedText encoded(const weft::Tokenizer& tokenizer, const std::string& cache) const;

 private:
  std::string path_;
  std::shared_ptr<const std::string> piped_;  // the text, if it came from a pipe
};
