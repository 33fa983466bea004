// Divides bytes that arrive in pieces into pieces of valid UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace serve {

class Utf8Pieces {
 public:
  // Returns the text that is complete now. Holds back the beginning of a character whose other bytes have not arrived.
  // Replaces bytes that can't be part of a character by U+FFFD.
  std::string add(std::string_view bytes);
  // Returns U+FFFD if bytes are still held back, else "".
  std::string finish();

 private:
  std::string held_;
};

// Returns the text with every invalid sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view bytes);

}  // namespace serve
