#include "console/number.h"

#include <weft/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <type_traits>

namespace {

template <class T>
constexpr bool is_whole = std::is_integral_v<T>;

// Removes the digits at the beginning of the text and returns them.
std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Whether the text has the form [-] digits [. digits] [e [+-] digits]. If `whole`, the last two parts are not allowed.
// The integer part must not have leading zeros.
bool is_decimal(std::string_view text, bool whole) {
  (void)take(text, "-");
  const std::string_view before = take_digits(text);
  if (before.size() > 1 && before.front() == '0') return false;
  std::size_t digits = before.size();
  if (!whole && take(text, ".")) digits += take_digits(text).size();
  if (digits == 0) return false;
  if (!whole && take(text, "eE")) {
    (void)take(text, "+-");
    if (take_digits(text).empty()) return false;
  }
  return text.empty();
}

// Whether a nonzero decimal number, such as "1e-400", became 0 as a double.
bool lost(double value, std::string_view text) {
  return value == 0 && text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  const std::string shown(text.substr(0, longest));
  return "\"" + shown + (text.size() > longest ? "…\"" : "\"");
}

}  // namespace

template <class T>
std::optional<T> parse_decimal(std::string_view text) {
  if (!is_decimal(text, is_whole<T>)) return {};
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if constexpr (!is_whole<T>)
    if (!std::isfinite(value) || lost(value, text)) return {};
  return value;
}

template <class T>
std::string as_text(T value) {
  if constexpr (is_whole<T>) {
    return std::to_string(value);
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }
}

template <class T>
std::string describe(const Range<T>& range) {
  using limits = std::numeric_limits<T>;
  if (range.lowest == limits::lowest() && range.highest == limits::max() && !std::is_unsigned_v<T>) return "";
  const std::string lowest = (range.above ? "above " : "at least ") + as_text(range.lowest);
  if (range.highest == limits::max()) return lowest;
  if (range.above || range.below) return lowest + (range.below ? ", below " : ", at most ") + as_text(range.highest);
  return as_text(range.lowest) + " to " + as_text(range.highest);
}

template <class T>
T number_in(const Range<T>& range, std::string_view text) {
  const std::optional<T> value = parse_decimal<T>(text);
  if (value && range.holds(*value)) return *value;
  std::string expected = is_whole<T> ? "a whole number in decimal" : "a finite number in decimal";
  const std::string limits = describe(range);
  if (!limits.empty()) expected += ", " + limits;
  const bool too_long = is_whole<T> && !value && is_decimal(text, true) && text.front() != '-';
  if (too_long && range.highest == std::numeric_limits<T>::max()) expected += ", at most " + as_text(range.highest);
  throw weft::Error("expected " + expected + ", got " + quoted(text));
}

#define WEFT_NUMBER(T)                                          \
  template std::optional<T> parse_decimal<T>(std::string_view); \
  template std::string as_text<T>(T);                           \
  template std::string describe<T>(const Range<T>&);            \
  template T number_in<T>(const Range<T>&, std::string_view);

WEFT_NUMBER(int)
WEFT_NUMBER(std::int64_t)
WEFT_NUMBER(std::uint64_t)
WEFT_NUMBER(double)
