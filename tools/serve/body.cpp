#include "serve/body.h"

#include <cmath>

namespace serve {
namespace {

constexpr int deepest = 16;

// Counts the open brackets outside of strings. nlohmann's destructor is recursive, so the depth is checked first.
void check_depth(const std::string& text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest)
        throw HttpError(400, "invalid_json",
                        "the body is nested more than " + std::to_string(deepest) + " levels deep");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

Json parsed(const std::string& text) {
  check_depth(text);
  try {
    Json value = Json::parse(text);
    if (value.is_object()) return value;
  } catch (const Json::exception& error) {
    throw HttpError(400, "invalid_json", std::string("the body is not JSON: ") + error.what());
  }
  throw HttpError(400, "invalid_json", "expected a JSON object as the body, got " + shown(Json::parse(text)));
}

HttpError wrong_type(const std::string& field, const std::string& expected, const Json& value) {
  return wrong(field, "expected " + expected + ", got " + shown(value));
}

}  // namespace

std::string shown(const Json& value) {
  constexpr std::size_t longest = 40;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return text;
}

std::optional<std::int64_t> integer_of(const Json& value) {
  constexpr double most = 0x1p53;
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) > most) return {};
  } else if (!value.is_number() ||
             (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))) {
    return {};
  }
  return value.get<std::int64_t>();
}

Body::Body(const std::string& text) : object_(parsed(text)) {}

Json Body::value(const std::string& field) {
  read_.insert(field);
  return object_.value(field, Json());
}

std::optional<std::string> Body::text(const std::string& field) {
  const Json found = value(field);
  if (found.is_null()) return {};
  if (!found.is_string()) throw wrong_type(field, "a text", found);
  return found.get<std::string>();
}

std::vector<std::string> Body::texts(const std::string& field) {
  const Json found = value(field);
  if (found.is_null()) return {};
  if (found.is_string()) return {found.get<std::string>()};
  if (!found.is_array()) throw wrong_type(field, "a text or a list of texts", found);
  for (const Json& item : found)
    if (!item.is_string()) throw wrong_type(field, "a text or a list of texts", found);
  return found.get<std::vector<std::string>>();
}

std::int64_t Body::integer(const std::string& field, std::int64_t usual, const Range<std::int64_t>& range) {
  const Json found = value(field);
  if (found.is_null()) return usual;
  if (const auto integer = integer_of(found); integer && range.holds(*integer)) return *integer;
  const std::string limits = describe(range);
  throw wrong_type(field, "an integer" + (limits.empty() ? "" : " (" + limits + ")"), found);
}

double Body::number(const std::string& field, double usual, const Range<double>& range) {
  const Json found = value(field);
  if (found.is_null()) return usual;
  if (!found.is_number() || !range.holds(found.get<double>()))
    throw wrong_type(field, "a number (" + describe(range) + ")", found);
  return found.get<double>();
}

bool Body::flag(const std::string& field, bool usual) {
  const Json found = value(field);
  if (found.is_null()) return usual;
  if (!found.is_boolean()) throw wrong_type(field, "true or false", found);
  return found.get<bool>();
}

void Body::check_all_read() const {
  for (const auto& [field, value] : object_.items())
    if (read_.count(field) == 0) throw HttpError(400, "unknown_field", "there is no field \"" + field + "\"", field);
}

}  // namespace serve
