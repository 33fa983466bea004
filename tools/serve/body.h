// The JSON object in the body of a request. Each field is checked when it is read.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "console/number.h"
#include "serve/http_error.h"

namespace serve {

class Body {
 public:
  // Throws an HttpError if the text is not a JSON object, or is nested too deeply.
  explicit Body(const std::string& text);

  // Each of these functions returns the value of a field, or the default (no value, an empty list) if the field is
  // missing or null. They throw an HttpError if the value has another type or is out of range.
  std::optional<std::string> text(const std::string& field);
  std::vector<std::string> texts(const std::string& field);  // a text, or a list of texts
  std::int64_t integer(const std::string& field, std::int64_t usual, const Range<std::int64_t>& range);
  double number(const std::string& field, double usual, const Range<double>& range);
  bool flag(const std::string& field, bool usual);
  Json value(const std::string& field);  // of any type

  // Throws an HttpError if the body has fields that were not read.
  void check_all_read() const;

 private:
  Json object_;
  std::set<std::string> read_;
};

// Returns no value if the number is not an integer, or too large. 3.0 is an integer, but above 2^53 only without a point.
std::optional<std::int64_t> integer_of(const Json& value);

// Returns a JSON value for a message. A long value is truncated.
std::string shown(const Json& value);

}  // namespace serve
