// Prints the token ids of texts, for fnet_tokenizer.py. Usage: encode DIR BACK. DIR is a folder of transformers' FNet.
// The program also writes this checkpoint to BACK. The input contains, for each text, its length in bytes, a line end,
// and the text. The output has one line of ids for each text.
#include <weft/checkpoint_format.h>
#include <weft/sentencepiece.h>

#include <cstdio>
#include <iostream>
#include <string>

int main(int, char** argv) try {
  weft::register_sentencepiece();
  const weft::Checkpoint checkpoint = weft::load_checkpoint(argv[1]);
  (void)weft::save_checkpoint_as("huggingface-fnet", argv[2], checkpoint);
  for (std::size_t bytes = 0; std::cin >> bytes;) {
    std::cin.get();
    std::string text(bytes, '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(bytes));
    for (const std::int64_t id : checkpoint.tokenizer->encode(text)) std::cout << id << ' ';
    std::cout << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
