#include "weft/spans.h"

#include <algorithm>

namespace weft {

bool are_spans(const std::vector<std::string>& tags) {
  return std::all_of(tags.begin(), tags.end(), [](const std::string& tag) {
    return tag == "O" || (tag.size() > 2 && (tag.rfind("B-", 0) == 0 || tag.rfind("I-", 0) == 0));
  });
}

std::vector<Span> spans_of(const std::vector<std::string>& row) {
  std::vector<Span> spans;
  bool open = false;
  for (std::int64_t i = 0; i < std::ssize(row); ++i) {
    const std::string& tag = row[static_cast<std::size_t>(i)];
    const std::string type = tag == "O" ? "" : tag.substr(2);
    if (open && (type != spans.back().type || tag[0] == 'B')) open = false;
    if (type.empty()) continue;
    if (!open) spans.push_back({i, i, type});
    open = true;
    spans.back().end = i + 1;
  }
  return spans;
}

}  // namespace weft
