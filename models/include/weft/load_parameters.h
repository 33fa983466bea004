/// \file
/// load_parameters: copies the tensors of a file into a model's parameters. The names of the tensors may differ from
/// those of the parameters.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/safetensors.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// What load_parameters() does with a tensor of a file.
struct TensorRole {
  TensorRole() = default;  ///< the tensor is omitted on purpose
  /// The tensor is the value of the parameter with that name, either unchanged or as `how` transforms it.
  TensorRole(std::string name, std::function<Tensor(const Tensor&)> how = {})  // NOLINT: implicit on purpose
      : parameter(std::move(name)), arrange(std::move(how)) {}

  std::string parameter = {};  ///< name of the parameter in the model; empty: the tensor is omitted
  /// Computes the parameter's value from the tensor, for example [](const Tensor& t) { return transpose(t, 0, 1); }. If
  /// null, the value is the tensor itself.
  std::function<Tensor(const Tensor&)> arrange = {};
};

/// A function that returns the role of a tensor, given the tensor's name in the file. If null, each tensor belongs to
/// the parameter with the same name. Several tensors may belong to one parameter, for example if a file holds a tied
/// weight twice. The values of these tensors must then be equal.
using Rename = std::function<TensorRole(const std::string& tensor)>;

/// Lists the names that load_parameters found and the names that it did not find.
struct LoadReport {
  std::string file = {};                    ///< path of the file
  std::vector<std::string> loaded = {};     ///< parameters that received a value
  std::vector<std::string> missing = {};    ///< parameters without a tensor; they are unchanged
  std::vector<std::string> unused = {};     ///< tensors that belong to no parameter
  std::vector<std::string> left_out = {};   ///< tensors that Rename omits on purpose
  std::vector<std::string> misshapen = {};  ///< "NAME is (2, 3), but the config requires (3, 2)", and other mismatches

  /// Whether every parameter has a tensor, and every tensor that Rename does not omit has a parameter.
  bool complete() const noexcept { return missing.empty() && unused.empty() && misshapen.empty(); }
  /// Returns a message that lists the problems and the names; empty if complete().
  std::string text() const;
};

/// Options of load_parameters.
struct LoadParametersOptions {
  Purpose purpose = Purpose::training;  ///< inference: values stay in the mapped file if dtype and alignment allow this
  bool partial = false;                 ///< loads the tensors that match, even if others do not
};

/// Sets the parameters of `model` to the values in the file, converted to the dtype of the parameters. The model may
/// have been made with Init::shapes_only. If the report is not complete(), the function throws an Error that lists
/// everything missing, unused or misshapen, and writes nothing. With `partial`, the function does not throw this Error,
/// and writes only the values that match. A parameter that isn't writable() always causes an Error. No other thread may
/// use the model during the call.
LoadReport load_parameters(const Model& model, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});
/// Does the same for any parameters, for example those that a layer's collect() appends.
LoadReport load_parameters(const NamedParameters& parameters, const SafetensorsFile& file, const Rename& rename = {},
                           const LoadParametersOptions& options = {});

}  // namespace weft
WEFT_PUBLIC_END
