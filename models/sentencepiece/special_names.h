// Finds the names of special symbols in texts. The time is proportional to the length of the text, however many names
// there are.
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
    std::int64_t id;  // -1: none; `at` is then the text's end
  };

  // In any order; if a name occurs twice, the first one counts.
  explicit SpecialNames(std::vector<std::pair<std::string, std::int64_t>> names = {}) : names_(std::move(names)) {
    std::stable_sort(names_.begin(), names_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, id] : names_) begins_.at(static_cast<unsigned char>(name.at(0))) = true;
  }

  // The first name in the text at or after `from`; if several begin at one place, the longest.
  Found first(std::string_view text, std::size_t from) const {
    for (; from < text.size(); ++from)
      if (begins_.at(static_cast<unsigned char>(text[from])))
        if (const Found found = longest(text, from); found.id >= 0) return found;
    return {text.size(), 0, -1};
  }

 private:
  // The longest name that the text has at `at`. Narrows the range of names that match, byte by byte; names that end
  // there come first in the range.
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
