#include "formats/name_table.h"

#include <algorithm>

namespace weft::detail {
namespace {

// The number at "*" in a name that matches the pattern, and the rest of the name after the pattern.
struct Fit {
  std::string number, rest;
};

std::optional<Fit> fit(const std::string& pattern, const std::string& name) {
  const std::size_t star = std::min(pattern.find('*'), pattern.size());
  if (name.compare(0, star, pattern, 0, star) != 0) return std::nullopt;
  Fit found;
  std::size_t at = star;
  if (star < pattern.size()) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", star), name.size());
    found.number = name.substr(star, end - star);
    const std::string after = pattern.substr(star + 1);
    if (found.number.empty() || name.compare(end, after.size(), after) != 0) return std::nullopt;
    at = end + after.size();
  }
  found.rest = name.substr(at);
  if (pattern.back() != '.' && !found.rest.empty()) return std::nullopt;
  return found;
}

std::string fill(const std::string& pattern, const Fit& found) {
  std::string name = pattern;
  if (const std::size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, found.number);
  return name + found.rest;
}

}  // namespace

std::optional<std::string> our_name(const std::vector<NamePair>& table, const std::string& theirs) {
  for (const NamePair& pair : table)
    if (const auto found = fit(pair.theirs, theirs)) return fill(pair.ours, *found);
  return std::nullopt;
}

std::optional<std::string> their_name(const std::vector<NamePair>& table, const std::string& ours) {
  for (const NamePair& pair : table)
    if (const auto found = fit(pair.ours, ours)) return fill(pair.theirs, *found);
  return std::nullopt;
}

std::optional<std::string> number_in(const std::string& pattern, const std::string& name) {
  const auto found = fit(pattern, name);
  return found ? std::optional<std::string>(found->number) : std::nullopt;
}

}  // namespace weft::detail
