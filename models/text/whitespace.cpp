// A word is a run of characters other than white space, unchanged.
#include "text/kinds.h"
#include "text/word_list.h"

namespace weft::detail {
namespace {

void split(std::string_view text, FunctionRef<void(const std::string&)> use) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_space(static_cast<unsigned char>(text[end]))) ++end;
    if (end > at) use(std::string(text.substr(at, end - at)));
    at = end + 1;
  }
}

}  // namespace

TokenizerKind whitespace_kind() {
  return word_list_kind({"whitespace", "runs of characters other than white space, unchanged", split, is_space});
}

}  // namespace weft::detail
