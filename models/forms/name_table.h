// The names that parameters have here and elsewhere, in one table for both directions.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

// "layers.*.proj1." is each name that begins so, with a number for "*"; without a point at its end it is the whole name.
struct NamePair {
  const char* ours;
  const char* theirs;
};

// The name on the other side, by the first pair that fits; none: it isn't in the table.
std::optional<std::string> our_name(const std::vector<NamePair>& table, const std::string& theirs);
std::optional<std::string> their_name(const std::vector<NamePair>& table, const std::string& ours);

// What "*" stands for in a name that fits the pattern; none: it doesn't.
std::optional<std::string> number_in(const std::string& pattern, const std::string& name);

}  // namespace weft::detail
