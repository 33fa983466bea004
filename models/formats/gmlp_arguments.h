// The arguments of a g-mlp-pytorch model, under their names there. A state dict doesn't contain them, so they are in a
// config.json (see read_state_dict_config).
#pragma once
#include <string>

#include "base/json.h"
#include "weft/checkpoint.h"
#include "weft/gmlp.h"

namespace weft::detail {

class GmlpArguments {
 public:
  // Throws an Error that names the file and the argument if weft's gMLP doesn't support an argument.
  explicit GmlpArguments(const SafetensorsFile& file);

  // Returns the task. If there are arguments, the argument `causal` decides, whose default is false. Otherwise the
  // options decide, and the default is a causal language model. Throws an Error if arguments and options contradict
  // each other.
  Task task(const LoadOptions& options) const;
  // Throws an Error if the sizes in the arguments differ from those of the tensors.
  void check_sizes(const GmlpConfig& config, std::int64_t vocabulary) const;
  // Notes for the user about assumptions and ignored arguments.
  std::vector<std::string> notes(Task task) const;

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("\"" + path_ + "\": " + what); }

  std::string path_;
  nlohmann::json all_;  // null if there are none
};

// The arguments that describe one of weft's models.
nlohmann::ordered_json gmlp_arguments(const GmlpConfig& config, Task task, std::int64_t vocabulary);

}  // namespace weft::detail
