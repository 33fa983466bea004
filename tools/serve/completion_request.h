// The fields of POST /v1/completions.
#pragma once
#include <weft/generate.h>

#include <string>
#include <vector>

#include "serve/call.h"

namespace serve {

// A prompt. The hidden symbols at its beginning are those of the state that it continues, or the symbol that an empty
// prompt stands for. The text doesn't contain them.
struct GivenPrompt {
  std::string text;
  std::vector<std::int64_t> symbols;  // at least one
  std::size_t hidden = 0;
};

struct CompletionRequest {
  std::vector<GivenPrompt> prompts;
  std::int64_t n = 1;  // number of texts for each prompt
  weft::GenerateOptions options;
  bool echo = false, stream = false, include_usage = false, has_logprobs = false;
  bool is_saved = false;  // whether to save the states of the texts

  // Returns the prompts of all texts: n for each prompt, with the seeds seed, seed + 1, and so on.
  std::vector<Prompt> texts() const;
  const GivenPrompt& prompt_of(std::size_t text) const { return prompts[text / static_cast<std::size_t>(n)]; }
};

// Throws an HttpError if a field is unknown or has a wrong value.
CompletionRequest completion_request(Call& call, const ServedModel& model);

}  // namespace serve
