// std::from_chars and std::to_chars for double. libc++ before version 14 has neither, and until version 20 it has no
// std::from_chars for double. Then the functions of C are used, which depend on the locale of the program.
#pragma once
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace weft::detail {

#if defined(__cpp_lib_to_chars)

inline std::from_chars_result number_from(const char* begin, const char* end, double& value) {
  return std::from_chars(begin, end, value);
}

// Writes x like %g, and returns the end of the text.
inline char* text_from(double x, int precision, char* begin, char* end) {
  return std::to_chars(begin, end, x, std::chars_format::general, precision).ptr;
}

#else

// Unlike std::from_chars, strtod accepts blanks, "+" and hexadecimal digits.
inline std::from_chars_result number_from(const char* begin, const char* end, double& value) {
  const std::string text(begin, end);
  if (text.empty() || std::strchr(" \t\n\v\f\r+", text[0]) != nullptr || text.find_first_of("xX") != std::string::npos)
    return {begin, std::errc::invalid_argument};
  char* stop = nullptr;
  errno = 0;
  const double read = std::strtod(text.c_str(), &stop);
  if (stop == text.c_str()) return {begin, std::errc::invalid_argument};
  const char* const after = begin + (stop - text.c_str());
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc()};
}

inline char* text_from(double x, int precision, char* begin, char* end) {
  return begin + std::snprintf(begin, static_cast<std::size_t>(end - begin), "%.*g", precision, x);
}

#endif

}  // namespace weft::detail
