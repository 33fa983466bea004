// Names that others chose, as a terminal shows them.
#pragma once
#include <cstddef>
#include <string>

// Control characters are escaped, as \\n, \\x1B or \\u0085: they would move the cursor or end a line.
std::string visible(const std::string& name);
// Code points of a text in UTF-8.
std::size_t code_points(const std::string& text);
