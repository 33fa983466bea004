// A checkpoint of each format that weft writes.
#pragma once
#include <string>
#include <vector>

#include "random_parameters.h"
#include "weft/checkpoint_format.h"

namespace weft::test {

struct FormatCase {
  std::string format, arch;
  Task task;
  std::string config;  // without the model's width
  std::string other;   // a different config with the same shapes, or empty if the format has no config.json

  // Makes a checkpoint with random parameters in -range … range.
  Checkpoint make(std::int64_t d_model, double range) const { return make(d_model, range, config); }
  Checkpoint make(std::int64_t d_model, double range, const std::string& fields) const {
    const std::int64_t vocabulary = 40, classes = task_source(task) == Source::rows ? 3 : 0;
    Checkpoint made;
    const std::string all = R"({"d_model":)" + std::to_string(d_model) + "," + fields + "}";
    made.model = make_model({arch, task, vocabulary, classes, all}, Init{Random(3)});
    randomize(made.model->parameters(), range);
    made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":0})");
    return made;
  }
  Checkpoint load(const std::string& folder, LoadOptions options = {}) const {
    options.task = task;
    return load_checkpoint_as(format, folder, options);
  }
  void save(const std::string& folder, const Checkpoint& checkpoint) const {
    (void)save_checkpoint_as(format, folder, checkpoint);
  }
};

inline const std::vector<FormatCase> format_cases = {
    {"huggingface-fnet", "fnet", Task::classifier, R"("layers":1,"seq_len":16)",
     R"("layers":1,"seq_len":16,"activation":"relu")"},
    {"labml-gmlp", "gmlp", Task::causal_lm, R"("layers":1,"seq_len":16,"positions":true)", ""},
    {"labml-fnet", "fnet", Task::classifier,
     R"("layers":1,"seq_len":16,"embeddings":"sinusoidal","norm":"pre","head":"last","activation":"relu","eps":1e-5)",
     ""},
    {"g-mlp-pytorch", "gmlp", Task::causal_lm, R"("layers":1,"seq_len":16,"positions":false)", ""},
    {"fairseq-tnn", "tnn", Task::causal_lm, R"("layers":1,"gamma":0.5,"act":"leaky_relu")",
     R"("layers":1,"gamma":0.5,"act":"silu")"},
    {"tnn-pytorch", "tnn", Task::causal_lm, R"("layers":1,"gamma":0.5,"act":"leaky_relu")",
     R"("layers":1,"gamma":0.5,"act":"silu")"},
};

}  // namespace weft::test
