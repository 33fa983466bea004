// The arguments of a g-mlp-pytorch model, under their names. A state dict doesn't contain them; see
// read_state_dict_config.
#pragma once
#include <string>

#include "base/json.h"
#include "weft/checkpoint.h"
#include "weft/gmlp.h"

namespace weft::detail {

class GmlpArguments {
 public:
  // Throws an Error that names file and argument for arguments that weft's gMLP doesn't support.
  explicit GmlpArguments(const SafetensorsFile& file);

  // The task. If there are arguments, their `causal` decides, whose default is false. Otherwise the options decide; the
  // default is causal. Throws an Error if arguments and options contradict each other.
  Task task(const LoadOptions& options) const;
  // Throws an Error if the arguments have other sizes than the tensors.
  void check_sizes(const GmlpConfig& config, std::int64_t vocabulary) const;
  // What is assumed or ignored.
  std::vector<std::string> notes(Task task) const;

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("\"" + path_ + "\": " + what); }

  std::string path_;
  nlohmann::json all_;  // null if there are none
};

// The arguments of a model of weft.
nlohmann::ordered_json gmlp_arguments(const GmlpConfig& config, Task task, std::int64_t vocabulary);

}  // namespace weft::detail
