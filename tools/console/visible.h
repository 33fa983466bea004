// Makes names from files and users safe to print on a terminal.
#pragma once
#include <cstddef>
#include <string>

// Returns the name with its control characters escaped, for example as \n, \x1B or \u0085, because they could move the
// cursor or end a line.
std::string visible(const std::string& name);
// Returns the number of code points in a UTF-8 text.
std::size_t code_points(const std::string& text);
