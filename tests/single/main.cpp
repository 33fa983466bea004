// A program that needs only weft.h and weft.cpp, which tools/amalgamate writes. It runs a trained model:
//   main instruction-set
//   main classify FOLDER TEXT
//   main generate FOLDER PROMPT
#include "weft.h"

#include <cstdio>
#include <exception>
#include <string>

static void classify(weft::Checkpoint checkpoint, const std::string& text) {
  const weft::Classifier classifier(std::move(checkpoint));
  for (const auto& [label, probability] : classifier.best(classifier.probabilities(text), 0))
    std::printf("%s %.17g\n", label.c_str(), probability);
}

static void generate(const weft::Checkpoint& checkpoint, const std::string& prompt) {
  weft::generate(*checkpoint.model, *checkpoint.tokenizer, prompt, {}, [](const std::string& symbol) {
    std::fputs(symbol.c_str(), stdout);
    return true;
  });
  std::puts("");
}

static int run(const std::string& what, int argc, char** argv) {
  if (what == "instruction-set") {
    std::puts(weft::isa_name(weft::available_isas().back()));
  } else if ((what == "classify" || what == "generate") && argc == 4) {
    weft::Checkpoint checkpoint = weft::load_checkpoint(argv[2], weft::Purpose::inference);
    if (what == "classify") classify(std::move(checkpoint), argv[3]);
    else generate(checkpoint, argv[3]);
  } else {
    std::fputs("usage: main instruction-set | main classify FOLDER TEXT | main generate FOLDER PROMPT\n", stderr);
    return 2;
  }
  return 0;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
