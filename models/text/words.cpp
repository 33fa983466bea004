// A word is a run of letters and digits. ASCII letters are converted to lower case. Characters beyond ASCII count as
// letters. Everything between words is dropped.
#include "text/kinds.h"
#include "text/word_list.h"

namespace weft::detail {
namespace {

void split(std::string_view text, FunctionRef<void(const std::string&)> use) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (is_letter(byte)) {
      word += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    } else if (!word.empty()) {
      use(word);
      word.clear();
    }
  }
}

bool ends_word(unsigned char byte) { return !is_letter(byte); }

}  // namespace

TokenizerKind words_kind() {
  return word_list_kind(
      {"words", "words of letters and digits in lower case; everything between them is dropped", split, ends_word});
}

}  // namespace weft::detail
