// Writes checkpoints of small models with random weights: FOLDER/classify and, if the architecture has language models,
// FOLDER/generate.
//   make_checkpoints ARCHITECTURE FOLDER
#include <weft/weft.h>

#include <algorithm>
#include <string>

// A new model could hide errors, because its biases are 0 or 1 and its tables are nearly 0.
static void randomize(const weft::Model& model) {
  std::uint64_t seed = 100;
  for (auto [name, parameter] : model.parameters())
    parameter.assign(weft::Random(seed++).uniform(parameter.value().shape(), -0.5, 0.5));
}

int main(int, char** argv) {
  const std::string arch = argv[1], folder = argv[2];
  const auto tokenizer = weft::learn_tokenizer("characters", "The quick brown fox jumps over the lazy dog.\n");
  weft::ModelSpec spec;
  spec.arch = arch;
  spec.config = R"({"d_model": 48, "layers": 2, "seq_len": 32})";
  spec.vocabulary = tokenizer->size();
  const auto& tasks = weft::architecture(arch).tasks;
  for (const auto& [task, name] :
       {std::pair(weft::Task::classifier, "classify"), {weft::Task::causal_lm, "generate"}}) {
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) continue;
    spec.task = task;
    spec.classes = task == weft::Task::classifier ? 5 : 0;
    weft::CheckpointInfo info;
    info.length = 32;
    if (task == weft::Task::classifier) info.labels = {"one", "two", "three", "four", "five"};
    const auto model = weft::make_model(spec, {weft::Random(7)});
    randomize(*model);
    weft::save_checkpoint(folder + "/" + name, *model, *tokenizer, info);
  }
}
