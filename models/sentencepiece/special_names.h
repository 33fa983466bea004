// Finds the names of special symbols in texts. The time is proportional to the length of the text, and hardly depends
// on the number of names.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::detail {

class SpecialNames {
 public:
  struct Found {
    std::size_t at, length;
    std::int64_t id;  // -1 if there is no name; `at` is then the end of the text
  };

  // The names may be in any order. If a name occurs twice, the first one counts.
  explicit SpecialNames(std::vector<std::pair<std::string, std::int64_t>> names = {}) : names_(std::move(names)) {
    std::stable_sort(names_.begin(), names_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, id] : names_) begins_.at(static_cast<unsigned char>(name.at(0))) = true;
  }

  // Returns the first name in the text at or after `from`. If several names begin there, returns the longest one.
  Found first(std::string_view text, std::size_t from) const {
    for (; from < text.size(); ++from)
      if (begins_.at(static_cast<unsigned char>(text[from])))
        if (const Found found = longest(text, from); found.id >= 0) return found;
    return {text.size(), 0, -1};
  }

 private:
  // Returns the longest name that begins at `at`. Narrows the range of matching names byte by byte. A name that ends at
  // the current byte is the first in the range.
  Found longest(std::string_view text, std::size_t at) const {
    Found found{at, 0, -1};
    auto begin = names_.begin(), end = names_.end();
    for (std::size_t i = 0; at + i < text.size() && begin != end; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      const auto byte_of = [&](const auto& name) { return static_cast<unsigned char>(name.first[i]); };
      begin = std::partition_point(begin, end, [&](const auto& n) { return n.first.size() <= i || byte_of(n) < byte; });
      end = std::partition_point(begin, end, [&](const auto& name) { return byte_of(name) == byte; });
      if (begin != end && begin->first.size() == i + 1) found = {at, i + 1, begin->second};
    }
    return found;
  }

  std::vector<std::pair<std::string, std::int64_t>> names_;  // sorted
  std::array<bool, 256> begins_{};                           // the first bytes of the names
};

}  // namespace weft::detail
