// weft-run-start: writes the start of a weft train run on a text, so that another program can repeat the run. The file
// contains the initial parameters as "parameter.NAME", and the batches of the first steps as "tokens" and "target" with
// the shape (steps, b, n).
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "weft/checkpoint.h"
#include "weft/data.h"
#include "weft/ops.h"
#include "weft/os.h"
#include "weft/run_folder.h"

namespace weft::bench {
namespace {

using nlohmann::json;

// Makes the initial model as weft train does from run.json.
std::unique_ptr<Model> model_of(const json& run, std::int64_t symbols, const Random& seed) {
  const json& model = run["model"];
  return make_model(
      {model["arch"], task_from_name(model["task"].get<std::string>()), symbols, 0, model["config"].dump()},
      {seed.split(0), DType::f32});
}

// Reshapes (b, n) to (1, b, n).
Tensor unsqueezed(const Tensor& x) { return reshape(x, {1, x.size(0), x.size(1)}); }

using Named = std::vector<std::pair<std::string, Tensor>>;

void add_batches(const Data& data, const Random& random, std::int64_t steps, Named& out) {
  std::vector<Tensor> tokens, targets;
  for (std::int64_t k = 0; k < steps; ++k) {
    const Batch batch = data.training(k, random);
    tokens.push_back(unsqueezed(batch.tokens));
    targets.push_back(unsqueezed(batch.target));
  }
  out.emplace_back("tokens", concat(tokens, 0));
  out.emplace_back("target", concat(targets, 0));
}

void write_start(const std::string& folder, std::int64_t steps, const std::string& path) {
  const json run = json::parse(os::read_file(run_path(folder)));
  const auto tokenizer = load_checkpoint(last_path(folder), Purpose::inference).tokenizer;
  const Random seed(run["training"]["seed"].get<std::uint64_t>());
  const auto model = model_of(run, tokenizer->size(), seed);
  const TextData data(os::read_file(run["data"]["text"]), tokenizer, model->task(), run["model"]["config"]["seq_len"],
                      run["training"]["batch"], text_split(run["data"].value("split", "90/10/0")));
  Named tensors;
  for (const auto& [name, parameter] : model->parameters())
    tensors.emplace_back("parameter." + name, parameter.value());
  add_batches(data, seed.split(1), steps, tensors);
  save_safetensors(path, tensors);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: weft-run-start RUN STEPS OUT.safetensors\n");
    return 2;
  }
  weft::bench::write_start(argv[1], std::atoll(argv[2]), argv[3]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft-run-start: %s\n", error.what());
  return 1;
}
