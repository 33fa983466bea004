// Numbers as people type them: decimal, finite, within a range.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>

// What a number may be: lowest … highest, any if neither is given.
template <class T>
struct Range {
  T lowest = std::numeric_limits<T>::lowest();
  T highest = std::numeric_limits<T>::max();
  bool above = false, below = false;  // the ends themselves are out

  bool holds(T value) const {
    return (above ? value > lowest : value >= lowest) && (below ? value < highest : value <= highest);
  }
};

// Of int, std::int64_t, std::uint64_t and double.

// "12", "-3", of a double also "0.5", ".5" and "1e-3". None for anything else: empty, hexadecimal, with leading zeros,
// spaces or other text around it, infinite or not a number; and for what T can't hold.
template <class T>
std::optional<T> parse_decimal(std::string_view text);

// "at least 1", "1 to 1024", "above 0", "at least 0, below 1"; "" of any.
template <class T>
std::string describe(const Range<T>& range);

// The number of that text, or an Error that says what was expected and what came.
template <class T>
T number_in(const Range<T>& range, std::string_view text);

// As help texts have it: "2000", "0.001".
template <class T>
std::string as_text(T value);
