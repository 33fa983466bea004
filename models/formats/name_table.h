// The names of parameters in weft and in other programs, in one table for both directions.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

// A pattern like "layers.*.proj1." matches all names that begin with it, where "*" stands for a number. A pattern that
// doesn't end with a period must match the whole name.
struct NamePair {
  const char* ours;
  const char* theirs;
};

// The name on the other side according to the first pair that matches, or nullopt if no pair matches.
std::optional<std::string> our_name(const std::vector<NamePair>& table, const std::string& theirs);
std::optional<std::string> their_name(const std::vector<NamePair>& table, const std::string& ours);

// The number at "*" in a name that matches the pattern, or nullopt if the name doesn't match.
std::optional<std::string> number_in(const std::string& pattern, const std::string& name);

}  // namespace weft::detail
