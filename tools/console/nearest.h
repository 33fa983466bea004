// Guesses which name a user meant to type.
#pragma once
#include <string>
#include <vector>

// Returns the entry of `names` that differs from `typed` by the fewest edits, at most one edit per three letters. An
// edit adds, removes or changes a letter, or swaps a letter with the next one. If there is no such entry and `typed`
// has at least three letters, returns an entry that begins with `typed`. Returns "" if there is no such entry either.
std::string nearest(const std::string& typed, const std::vector<std::string>& names);
