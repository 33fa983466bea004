// The arguments of a g-mlp-pytorch model, under their names: what a state dict doesn't say, see read_state_dict_config.
#pragma once
#include <string>

#include "base/json.h"
#include "weft/checkpoint.h"
#include "weft/gmlp.h"

namespace weft::detail {

class GmlpArguments {
 public:
  // Error, naming file and argument, for those that weft's gMLP hasn't.
  explicit GmlpArguments(const SafetensorsFile& file);

  // Causal unless they or the options say; there it isn't unless it is said. Error if the two differ.
  Task task(const LoadOptions& options) const;
  // Error if they are of other sizes than the tensors.
  void check_sizes(const GmlpConfig& config, std::int64_t vocabulary) const;
  // What is taken for granted, or left out.
  std::vector<std::string> notes(Task task) const;

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("\"" + path_ + "\": " + what); }

  std::string path_;
  nlohmann::json all_;  // null: there are none
};

// Those of a model of weft's.
nlohmann::ordered_json gmlp_arguments(const GmlpConfig& config, Task task, std::int64_t vocabulary);

}  // namespace weft::detail
