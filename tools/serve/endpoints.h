// The paths of the server.
#pragma once
#include <string>
#include <vector>

#include "serve/call.h"

namespace serve {

// A request without a body.
struct Query {
  const Models& models;
  const Metrics& metrics;
  std::string rest;  // what follows the path of the endpoint
};

struct Endpoint {
  const char* path;       // if it ends with a slash, except for "/", then the path of a request continues
  const char* method;     // GET or POST
  bool needs_key = true;  // whether it is refused without the key of --api-key
  // POST: answers the JSON body of the request.
  Reply (*answer)(Call&) = nullptr;
  // GET: returns a text of the type `type`.
  std::string (*text)(const Query&) = nullptr;
  const char* type = "application/json";

  bool continues() const { return std::string(path).size() > 1 && std::string(path).ends_with("/"); }
  bool matches(const std::string& requested) const {
    return continues() ? requested.starts_with(path) && requested != path : requested == path;
  }
};

const std::vector<Endpoint>& endpoints();

// The texts that the build embeds.
extern const char* const page_html;
extern const char* const openapi_json;

}  // namespace serve
