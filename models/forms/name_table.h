// The names of parameters in weft and in other programs, in one table for both directions.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

// "layers.*.proj1." matches each name with this beginning and a number in place of "*". A pattern without a point at
// its end must match the whole name.
struct NamePair {
  const char* ours;
  const char* theirs;
};

// The name on the other side, by the first pair that matches; none if no pair does.
std::optional<std::string> our_name(const std::vector<NamePair>& table, const std::string& theirs);
std::optional<std::string> their_name(const std::vector<NamePair>& table, const std::string& ours);

// The number at "*" in a name that matches the pattern; none if it doesn't.
std::optional<std::string> number_in(const std::string& pattern, const std::string& name);

}  // namespace weft::detail
