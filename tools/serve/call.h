// A request and its answer, without HTTP.
#pragma once
#include <functional>
#include <string>

#include "serve/body.h"
#include "serve/models.h"
#include "serve/states.h"

namespace serve {

struct Call {
  Body& body;
  const Settings& settings;
  Models& models;
  States& states;
  Metrics& metrics;
  Clock::time_point until;      // when the answer must be complete
  std::function<void()> check;  // throws an HttpError if the client has gone away, or if the server ends
};

// Writes a part of an answer. Returns false if the client has gone away.
using Write = std::function<bool(const std::string&)>;

struct Reply {
  Json json;
  std::function<void(const Write&)> stream = {};  // if given, it writes server-sent events instead of `json`
};

// Returns the model that the field "model" names.
inline std::shared_ptr<const ServedModel> model_of(Call& call) {
  return call.models.find(call.body.text("model").value_or(""));
}

// The requests with a body, each in its own file.
Reply completions(Call& call);
Reply embeddings(Call& call);
Reply classify(Call& call);
Reply fill_mask(Call& call);
Reply predict(Call& call);
Reply tokenize(Call& call);
Reply detokenize(Call& call);

}  // namespace serve
