// The paths of the server.
#pragma once
#include <string>
#include <vector>

#include "serve/call.h"

namespace serve {

struct Endpoint {
  const char* path;
  const char* method;     // GET or POST
  bool needs_key = true;  // whether it is refused without the key of --api-key
  // POST: answers the JSON body of the request.
  Reply (*answer)(Call&) = nullptr;
  // GET: returns a text of the type `type`.
  std::string (*text)(const Models&, const Metrics&) = nullptr;
  const char* type = "application/json";
};

const std::vector<Endpoint>& endpoints();

// The texts that the build embeds.
extern const char* const page_html;
extern const char* const openapi_json;

}  // namespace serve
