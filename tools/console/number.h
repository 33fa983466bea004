// Reads numbers that users type. They must be decimal, finite and within a range.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>

// The range of a number, from `lowest` to `highest`. By default it contains every number.
template <class T>
struct Range {
  T lowest = std::numeric_limits<T>::lowest();
  T highest = std::numeric_limits<T>::max();
  bool above = false, below = false;  // whether `lowest` or `highest` itself is excluded

  bool holds(T value) const {
    return (above ? value > lowest : value >= lowest) && (below ? value < highest : value <= highest);
  }
};

// The templates below are instantiated for int, std::int64_t, std::uint64_t and double.

// Accepts "12" and "-3", and for double also "0.5", ".5" and "1e-3". Returns no value for any other text: for example
// an empty text, a hexadecimal number, leading zeros, text or spaces around the number, infinity, and NaN. Also returns
// no value for numbers that T can't represent.
template <class T>
std::optional<T> parse_decimal(std::string_view text);

// Returns the description of a range, such as "at least 1", "1 to 1024", "above 0" or "at least 0, below 1". Returns ""
// if the range has no limit.
template <class T>
std::string describe(const Range<T>& range);

// Returns the number that the text denotes. Throws an Error that says what was expected and what was given.
template <class T>
T number_in(const Range<T>& range, std::string_view text);

// Formats a number for help texts: "2000", "0.001".
template <class T>
std::string as_text(T value);
