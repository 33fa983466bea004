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

/// An optimizer by its name, with those of its options that are not to be the usual ones:
/// `options.optimizer = {"sgd", {{"momentum", 0.95}}};`
struct OptimizerOptions {
  std::string name = "adamw";               ///< one of optimizers()
  std::map<std::string, double> own = {};   ///< options of this optimizer alone, see OptimizerInfo
  std::optional<double> weight_decay = {};  ///< of matrices (parameters of rank 2 or more); none: its usual one
  double clip = 1;                          ///< the highest norm of the gradient; 0: any
};

/// An optimizer for people to read of.
struct OptimizerInfo {
  /// One of its options.
  struct Option {
    std::string name;     ///< its key in OptimizerOptions::own
    double usual;         ///< its default
    double lowest;        ///< of its range, lowest <= value < end
    double end;           ///< infinite: any finite value
    std::string meaning;  ///< a line of text
  };
  std::string name;         ///< what OptimizerOptions::name takes
  std::vector<Option> own;  ///< those besides weight decay and clip
  double weight_decay;      ///< the usual one
  double rate;              ///< the usual learning rate, as a multiple of AdamW's
};

/// All of them, with their options and usual values, as `weft train --help` prints them.
std::vector<OptimizerInfo> optimizers();

/// Updates a model's parameters. Matrices come first in the flat buffers, so each group is one pass over one range.
/// One thread's.
class Optimizer {
 public:
  /// Error, with nothing changed, for an optimizer or option that it doesn't know, or a value out of its range.
  Optimizer(const NamedParameters& parameters, const OptimizerOptions& options);

  /// Values, gradients and states in flat buffers: zero_gradients() them, let Tape::backward() add to them, then
  /// step().
  ParameterSet& parameters() noexcept { return set_; }
  /// One update from the gradients in parameters(); step counts from 1. Gives the gradient's norm before clipping.
  /// Error, with nothing changed, if that is not finite or memory runs out.
  double step(std::int64_t step, double learning_rate);
  std::size_t states() const noexcept;  ///< buffers that it keeps, each as large as the parameters
  /// Name and every option, as a JSON object: {"optimizer":"sgd","momentum":0.9,"weight-decay":0,"clip":1}.
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
