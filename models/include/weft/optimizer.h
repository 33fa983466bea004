/// \file
/// Optimizers: how gradients change a model's parameters.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/parameter_set.h"
#include "weft/update_rules.h"

#pragma GCC visibility push(default)
namespace weft {

/// Parameters with a learning rate or a weight decay of their own.
struct ParameterGroup {
  std::string name;  ///< of a parameter, or of a layer: "blocks.1" has all that "blocks.1." begins
  double rate = 1;   ///< a factor for the learning rate; 0: the parameters don't change
  std::optional<double> weight_decay = {};  ///< of the group's matrices; none: like all others
};

/// An optimizer by name, with the options that differ from their defaults:
/// `options.optimizer = {"sgd", {{"momentum", 0.95}}};`
struct OptimizerOptions {
  std::string name = "adamw";               ///< one of optimizers()
  std::map<std::string, double> own = {};   ///< this optimizer's own options, see OptimizerInfo
  std::optional<double> weight_decay = {};  ///< of matrices (parameters of rank 2 or more); none: its default
  double clip = 1;                          ///< the maximum norm of the gradient; 0: no limit
  /// Groups of parameters. A parameter belongs to the first group that has it, if there is one.
  std::vector<ParameterGroup> groups = {};
};

/// The description of an optimizer, for people to read.
struct OptimizerInfo {
  /// One of its options.
  struct Option {
    std::string name;                                      ///< its key in OptimizerOptions::own
    double usual = 0;                                      ///< its default
    double lowest = 0;                                     ///< the minimum: lowest <= value < end
    double end = std::numeric_limits<double>::infinity();  ///< infinite: any finite value
    std::string meaning = {};                              ///< a one-line description
  };
  std::string name;              ///< what OptimizerOptions::name takes
  std::vector<Option> own = {};  ///< its options besides weight decay and clip
  double weight_decay = 0;       ///< the default
  double rate = 1;               ///< the default learning rate, as a multiple of AdamW's
};

/// The parameters of a group, flat: matrices first, then vectors, each beginning at a multiple of 64 bytes, with zeros
/// between them.
struct ParameterRange {
  Tensor values;                                  ///< (n), f32 or f64
  Tensor gradients;                               ///< (n), of the same dtype
  std::vector<Tensor> states = {};                ///< (n) each, zero before the first step
  std::vector<ParameterSet::Entry> entries = {};  ///< the parameters, with offsets in this range
};

/// An optimizer, as programs add them.
struct OptimizerKind : OptimizerInfo {
  std::size_t states = 0;  ///< the number of state tensors like the parameters
  /// Changes the values and states of a range in place, without replacing a tensor. `step` has the options in the order
  /// of `own`. Called once for each group and step. If it throws for a group after the first one, the step is half done.
  std::function<void(ParameterRange& range, const UpdateStep& step)> update = {};
};

/// Adds an optimizer to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is taken,
/// if it has no name or no update, or for an option whose default is out of its range or whose name is taken by a setting
/// of runs. Any thread may call it at any time.
void register_optimizer(OptimizerKind kind);

/// All optimizers, with their options and defaults, as `weft train --help` prints them.
std::vector<OptimizerInfo> optimizers();

/// Updates a model's parameters. In the flat buffers, the parameters of a group stand together, the matrices first, so
/// that each group is one pass over one range. Not thread-safe.
class Optimizer {
 public:
  /// For an unknown optimizer or option, a value out of its range, or a group without parameters, it throws an Error and
  /// changes nothing.
  Optimizer(const NamedParameters& parameters, const OptimizerOptions& options);

  /// Values, gradients and states in flat buffers. Call zero_gradients(), let Tape::backward() add to the gradients,
  /// then call step().
  ParameterSet& parameters() noexcept { return set_; }
  /// One update from the gradients in parameters(); steps count from 1. Returns the gradient's norm before clipping. If
  /// the norm is not finite or memory runs out, it throws an Error and changes nothing.
  double step(std::int64_t step, double learning_rate);
  std::size_t states() const noexcept;  ///< number of buffers that it keeps, each as large as the parameters
  /// The name and every option, as a JSON object: {"optimizer":"sgd","momentum":0.9,"weight-decay":0,"clip":1}. If there
  /// are groups, they follow: "groups":[{"name":"embedding","rate":0.1,"weight-decay":0}].
  std::string description() const;

 private:
  struct Group {
    double rate, weight_decay;
    std::int64_t matrices;  // elements of matrices, at the beginning of the range
    ParameterRange range;
  };
  std::vector<Group> groups();
  void check_in_place(const Group& group);

  const OptimizerKind& kind_;
  OptimizerOptions options_;
  UpdateStep options_of_steps_;  // what is the same in every step
  ParameterSet set_;
  std::vector<Group> groups_;
};

}  // namespace weft
#pragma GCC visibility pop
