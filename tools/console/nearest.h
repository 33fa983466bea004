// What a mistyped name was meant to be.
#pragma once
#include <string>
#include <vector>

// Of `names` the one nearest to `typed`: by fewest letters added, left out, changed or swapped with the next one, at
// most one of three; else one that begins with `typed`, of at least three letters. Empty if there is none.
std::string nearest(const std::string& typed, const std::vector<std::string>& names);
