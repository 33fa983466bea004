/// \file
/// load_parameters: a file's tensors as a model's parameters, also those of other programs, which have names of their own.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/safetensors.h"

#pragma GCC visibility push(default)
namespace weft {

/// What a file's tensor is to a model.
struct TensorRole {
  TensorRole() = default;  ///< nothing: it is left out, on purpose
  /// The value of the parameter of that name, as it lies or as `how` makes it.
  TensorRole(std::string name, std::function<Tensor(const Tensor&)> how = {})  // NOLINT: implicit on purpose
      : parameter(std::move(name)), arrange(std::move(how)) {}

  std::string parameter = {};  ///< in the model; empty: left out
  /// The parameter's value, made of the tensor, as by [](const Tensor& t) { return transpose(t, 0, 1); }; none: the tensor.
  std::function<Tensor(const Tensor&)> arrange = {};
};

/// The role of each tensor, by its name in the file. None: the parameter of its name. Several tensors may be one parameter,
/// as where a file has a tied one twice: their values must then be the same.
using Rename = std::function<TensorRole(const std::string& tensor)>;

/// Which names were found, and which were not.
struct LoadReport {
  std::string file = {};                    ///< its path
  std::vector<std::string> loaded = {};     ///< parameters that have their value now
  std::vector<std::string> missing = {};    ///< parameters without a tensor, which are as before
  std::vector<std::string> unused = {};     ///< tensors that are none of the model's parameters
  std::vector<std::string> left_out = {};   ///< tensors that Rename left out
  std::vector<std::string> misshapen = {};  ///< "NAME is (2, 3), its config asks for (3, 2)", and what else doesn't fit

  /// Whether every parameter has its tensor, and every tensor that isn't left out its parameter.
  bool complete() const noexcept { return missing.empty() && unused.empty() && misshapen.empty(); }
  /// What isn't as it should be, by name; empty if it is complete().
  std::string text() const;
};

/// How load_parameters loads.
struct LoadParametersOptions {
  Purpose purpose = Purpose::training;  ///< inference: values stay in the file where type and alignment allow
  bool partial = false;                 ///< what fits is loaded, whatever else there is or is missing: see the report
};

/// Gives the parameters of `model`, which may be made of shapes alone, the values that the file has for them, in the
/// parameters' dtype. Error unless the report is complete(), with all that is missing, unused or misshapen in its message
/// and nothing written; partial: never for that, and what doesn't fit is not written. Error, too, for a parameter that isn't
/// writable(). Nobody may use the model meanwhile.
LoadReport load_parameters(const Model& model, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});
/// The same of any parameters, as those that a layer's collect() gives.
LoadReport load_parameters(const NamedParameters& parameters, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});

}  // namespace weft
#pragma GCC visibility pop
