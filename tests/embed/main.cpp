// A program that embeds weft. It continues a prompt with a saved language model.
//   consumer CHECKPOINT_FOLDER PROMPT
#include <weft/checkpoint.h>
#include <weft/generate.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: consumer CHECKPOINT_FOLDER PROMPT\n");
    return 2;
  }
  try {
    const weft::Checkpoint saved = weft::load_checkpoint(argv[1], weft::Purpose::inference);

    // The logits of a whole text, (1, n, vocabulary).
    const std::vector<std::int64_t> ids = saved.tokenizer->encode(argv[2]);
    const auto n = static_cast<std::int64_t>(ids.size());
    const weft::Tensor logits = (*saved.model)(weft::Tensor::from(ids, {1, n}));
    std::printf("logits: %s\n", weft::to_string(logits.shape()).c_str());

    // A continuation, one symbol at a time.
    weft::GenerateOptions options;
    options.tokens = 20;
    options.temperature = 0.8;
    weft::generate(*saved.model, *saved.tokenizer, argv[2], options, [](const std::string& symbol) {
      std::fputs(symbol.c_str(), stdout);
      return true;
    });
    std::printf("\n");
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
}
