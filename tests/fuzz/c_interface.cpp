// The input: the bytes of a checkpoint, which the C interface loads from memory. If loading succeeds, the target
// queries it, runs it, and continues a text.
#include "target.h"
#include "weft/weft_c.h"

namespace {

int stop_after(void* left, const char*, std::size_t) { return --*static_cast<int*>(left) <= 0; }

void use(weft_model* model) {
  weft_info info = {};
  info.struct_size = sizeof(info);
  if (weft_model_info(model, &info) != WEFT_OK) return;
  const char* name = nullptr;
  weft_label(model, info.labels - 1, &name);
  const std::int64_t tokens[3] = {0, info.vocabulary - 1, info.vocabulary};
  float logits[64];
  for (std::int64_t length = 1; length <= 3; ++length) {
    std::size_t count = 0;
    weft_run(model, tokens, 1, length, logits, 64, &count);
  }
  double probabilities[8];
  const char* const texts[2] = {"ab", ""};
  weft_classify(model, texts, 2, probabilities, 8, nullptr);
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  options.tokens = 3;
  int left = 2;
  std::int64_t count = 0;
  weft_generate(model, "a", &options, stop_after, &left, &count);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft_model* model = nullptr;
  if (weft_load_memory(data, size, &model) == WEFT_OK) use(model);
  weft_model_free(model);
  return 0;
}
