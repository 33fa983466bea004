/// \file
/// Optimizers: how gradients change a model's parameters.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/parameter_set.h"
#include "weft/update_rules.h"

#pragma GCC visibility push(default)
namespace weft {

/// An optimizer by name, with the options that differ from their defaults:
/// `options.optimizer = {"sgd", {{"momentum", 0.95}}};`
struct OptimizerOptions {
  std::string name = "adamw";               ///< one of optimizers()
  std::map<std::string, double> own = {};   ///< this optimizer's own options, see OptimizerInfo
  std::optional<double> weight_decay = {};  ///< of matrices (parameters of rank 2 or more); none: its default
  double clip = 1;                          ///< the maximum norm of the gradient; 0: no limit
};

/// The description of an optimizer, for people to read.
struct OptimizerInfo {
  /// One of its options.
  struct Option {
    std::string name;     ///< its key in OptimizerOptions::own
    double usual;         ///< its default
    double lowest;        ///< the minimum: lowest <= value < end
    double end;           ///< infinite: any finite value
    std::string meaning;  ///< a one-line description
  };
  std::string name;         ///< what OptimizerOptions::name takes
  std::vector<Option> own;  ///< its options besides weight decay and clip
  double weight_decay;      ///< the default
  double rate;              ///< the default learning rate, as a multiple of AdamW's
};

/// All optimizers, with their options and defaults, as `weft train --help` prints them.
std::vector<OptimizerInfo> optimizers();

/// Updates a model's parameters. Matrices come first in the flat buffers, so each group is one pass over one range. Not
/// thread-safe.
class Optimizer {
 public:
  /// For an unknown optimizer or option, or a value out of its range, it throws an Error and changes nothing.
  Optimizer(const NamedParameters& parameters, const OptimizerOptions& options);

  /// Values, gradients and states in flat buffers. Call zero_gradients(), let Tape::backward() add to the gradients,
  /// then call step().
  ParameterSet& parameters() noexcept { return set_; }
  /// One update from the gradients in parameters(); steps count from 1. Returns the gradient's norm before clipping. If
  /// the norm is not finite or memory runs out, it throws an Error and changes nothing.
  double step(std::int64_t step, double learning_rate);
  std::size_t states() const noexcept;  ///< number of buffers that it keeps, each as large as the parameters
  /// The name and every option, as a JSON object: {"optimizer":"sgd","momentum":0.9,"weight-decay":0,"clip":1}.
  std::string description() const;

 private:
  const UpdateRule& rule_;
  UpdateStep step_;  // the latest
  double clip_;
  ParameterSet set_;
  std::int64_t matrices_end_;
};

}  // namespace weft
#pragma GCC visibility pop
