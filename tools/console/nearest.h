// What a mistyped name was meant to be.
#pragma once
#include <string>
#include <vector>

// The entry of `names` nearest to `typed`: the one with the fewest letters added, left out, changed or swapped with the
// next one, at most one in three. If there is none, an entry that begins with `typed`, which must have at least three
// letters. Empty if there is none of these either.
std::string nearest(const std::string& typed, const std::vector<std::string>& names);
