// An error that becomes the answer to a request, in the form of OpenAI's API.
#pragma once
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace serve {

using Json = nlohmann::ordered_json;

struct HttpError : std::runtime_error {
  int status;
  std::string code;   // a short name for programs
  std::string param;  // the field of the request that the error is about, or ""

  HttpError(int http_status, std::string name, const std::string& message, std::string field = "")
      : runtime_error(message), status(http_status), code(std::move(name)), param(std::move(field)) {}
};

// Returns the error for a field of a request with a wrong value.
inline HttpError wrong(const std::string& field, const std::string& message) {
  return {400, "invalid_value", field + ": " + message, field};
}

// Returns the text {"error": {"message": …, "type": …, "param": …, "code": …}}. Invalid UTF-8 is replaced.
std::string error_text(const HttpError& error);
// Returns the JSON text. Invalid UTF-8 is replaced.
std::string json_text(const Json& json);
// Converts any exception of a request's computation.
HttpError http_error(const std::exception& error);

}  // namespace serve
