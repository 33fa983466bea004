// A text to learn from, which may be read more than once.
#pragma once
#include <weft/encoded_text.h>

#include <memory>
#include <string>

class TextInput {
 public:
  // A pipe, which can't be read twice, is read here; Error if that fails.
  explicit TextInput(const std::string& path);

  // In pieces. Error if it can't be read, is empty or is not UTF-8.
  weft::Texts texts() const;
  // Its ids; those of a long file are in the file `cache`.
  weft::EncodedText encoded(const weft::Tokenizer& tokenizer, const std::string& cache) const;

 private:
  std::string path_;
  std::shared_ptr<const std::string> piped_;  // or null
};
