/// \file
/// load_parameters: reads a file's tensors into a model's parameters, also from other programs that use other names.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/safetensors.h"

#pragma GCC visibility push(default)
namespace weft {

/// How a tensor of a file is used.
struct TensorRole {
  TensorRole() = default;  ///< it is left out on purpose
  /// It is the value of the parameter with that name, unchanged or as `how` transforms it.
  TensorRole(std::string name, std::function<Tensor(const Tensor&)> how = {})  // NOLINT: implicit on purpose
      : parameter(std::move(name)), arrange(std::move(how)) {}

  std::string parameter = {};  ///< name in the model; empty: left out
  /// Computes the parameter's value from the tensor, such as [](const Tensor& t) { return transpose(t, 0, 1); }. Null:
  /// the tensor itself.
  std::function<Tensor(const Tensor&)> arrange = {};
};

/// The role of each tensor, by its name in the file. Null: each tensor belongs to the parameter with its name. Several
/// tensors may belong to one parameter, for example if a file holds a tied one twice; their values must then be equal.
using Rename = std::function<TensorRole(const std::string& tensor)>;

/// Which names were found, and which were not.
struct LoadReport {
  std::string file = {};                    ///< its path
  std::vector<std::string> loaded = {};     ///< parameters that got their value
  std::vector<std::string> missing = {};    ///< parameters without a tensor, which are unchanged
  std::vector<std::string> unused = {};     ///< tensors that belong to no parameter
  std::vector<std::string> left_out = {};   ///< tensors that Rename left out
  std::vector<std::string> misshapen = {};  ///< "NAME is (2, 3), but the config requires (3, 2)", and other mismatches

  /// Whether every parameter has its tensor, and every tensor that isn't left out has its parameter.
  bool complete() const noexcept { return missing.empty() && unused.empty() && misshapen.empty(); }
  /// The problems, by name; empty if it is complete().
  std::string text() const;
};

/// Options of load_parameters.
struct LoadParametersOptions {
  Purpose purpose = Purpose::training;  ///< inference: values stay in the file where type and alignment allow
  bool partial = false;                 ///< load what fits, even if other tensors are missing or unused: see the report
};

/// Gives the parameters of `model` (which may have been made with Init::shapes_only) the values in the file, converted
/// to the parameters' dtype. Unless the report is complete(), it throws an Error that lists everything missing, unused
/// or misshapen, and writes nothing. With `partial` it throws no such Error, and writes only what fits. A parameter
/// that isn't writable() is always an Error. No other thread may use the model meanwhile.
LoadReport load_parameters(const Model& model, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});
/// The same for any parameters, for example those of a layer's collect().
LoadReport load_parameters(const NamedParameters& parameters, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});

}  // namespace weft
#pragma GCC visibility pop
