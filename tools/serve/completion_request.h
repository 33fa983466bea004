// The fields of POST /v1/completions.
#pragma once
#include <weft/generate.h>

#include <string>
#include <vector>

#include "serve/call.h"

namespace serve {

struct CompletionRequest {
  std::vector<std::string> prompts;
  std::int64_t n = 1;  // number of texts for each prompt
  weft::GenerateOptions options;
  bool echo = false, stream = false, include_usage = false, has_logprobs = false;

  // Returns the prompts of all texts: n for each prompt, with the seeds seed, seed + 1, and so on.
  std::vector<Prompt> texts() const;
};

// Throws an HttpError if a field is unknown or has a wrong value.
CompletionRequest completion_request(Call& call);

}  // namespace serve
