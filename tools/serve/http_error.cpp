#include "serve/http_error.h"

#include <weft/error.h>

#include <new>

namespace serve {
namespace {

const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

}  // namespace

// Writes the object without a JSON value for it, whose destructor may need memory. A string's destructor does not.
std::string error_text(const HttpError& error) {
  const auto quoted = [](const std::string& text) { return json_text(text); };
  return R"({"error":{"message":)" + quoted(error.what()) + R"(,"type":)" + quoted(type_of(error.status)) +
         R"(,"param":)" + (error.param.empty() ? "null" : quoted(error.param)) + R"(,"code":)" + quoted(error.code) +
         "}}";
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

HttpError http_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const HttpError*>(&error)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const weft::OutOfMemory*>(&error) != nullptr)
    return {503, "out_of_memory", "the server has too little memory"};
  if (dynamic_cast<const weft::Error*>(&error) != nullptr) return {400, "invalid_value", error.what()};
  return {500, "internal_error", error.what()};
}

}  // namespace serve
