// Uses a saved language model from four threads at the same time. Each thread has its own Context, and all share the
// model.
//   threads CHECKPOINT_FOLDER
#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/generate.h>

#include <cstdint>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "check.h"

namespace {

struct Answer {
  std::vector<float> logits;  // for the whole prompt, (1, n, vocabulary)
  std::string text;           // a continuation
};

// Computes only on the calling thread.
Answer answer(const weft::Checkpoint& saved, const std::string& prompt) {
  weft::Context context;  // its memory, plans and threads are not shared with other threads
  context.set_threads(1);
  const weft::ContextScope scope(context);

  Answer result;
  const std::vector<std::int64_t> ids = saved.tokenizer->encode(prompt);
  const auto n = static_cast<std::int64_t>(ids.size());
  result.logits = (*saved.model)(weft::Tensor::from(ids, {1, n})).to_vector<float>();

  weft::GenerateOptions options;
  options.tokens = 40;
  weft::generate(*saved.model, *saved.tokenizer, prompt, options, [&](const std::string& symbol) {
    result.text += symbol;
    return true;
  });
  return result;
}

void run(const std::string& folder) {
  const weft::Checkpoint saved = weft::load_checkpoint(folder, weft::Purpose::inference);
  const std::vector<std::string> prompts = {"1 plus 2 is", "5 plus", "3", "10 plus 10"};

  std::vector<std::future<Answer>> running;  // a future rethrows its thread's exception
  for (const std::string& prompt : prompts)
    running.push_back(std::async(std::launch::async, [&saved, &prompt] { return answer(saved, prompt); }));

  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Answer together = running[i].get(), alone = answer(saved, prompts[i]);
    std::printf("%s|%s\n", prompts[i].c_str(), together.text.c_str());
    check(together.logits == alone.logits, "the same logits as from one thread");
    check(together.text == alone.text, "the same text as from one thread");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: threads CHECKPOINT_FOLDER\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "threads: %s\n", error.what());
    return 1;
  }
}
