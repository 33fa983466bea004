#include "train/load_parameters.h"

#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

// The file's memory goes back as soon as it is copied: no weight is there twice while the others are read.
Tensor own_copy(const Tensor& value, DType dtype) {
  Tensor own;
  if (value.dtype() == dtype) {
    own = Tensor::empty(value.shape(), dtype);
    raw::copy(value, own);
  } else {
    own = raw::convert(value, dtype);
  }
  give_back(value);
  return own;
}

}  // namespace

ParameterBudget detail::contents(const SafetensorsFile& file) {
  ParameterBudget all;
  for (const std::string& name : file.names()) {
    ++all.parameters;
    all.elements += numel(file.shape(name));
  }
  return all;
}

void detail::load_parameters(const SafetensorsFile& file, const Model& model, Purpose purpose) {
  const NamedParameters parameters = model.parameters();
  for (const auto& [name, parameter] : parameters) {
    const Shape shape = parameter.value().shape();
    const DType dtype = parameter.value().dtype();
    if (file.shape(name) != shape)
      throw Error("\"" + file.path() + "\": " + name + " is " + to_string(file.shape(name)) + ", its config asks for " +
                  to_string(shape));
    const Tensor value = file.load(name);
    if (!is_floating(value.dtype()))
      throw Error("\"" + file.path() + "\": " + name + " is " + file.stored_dtype(name) + ", expected " +
                  dtype_name(dtype));
    if (purpose == Purpose::training) rebind(parameter, own_copy(value, dtype));
    else lend(parameter, value.dtype() == dtype ? value : own_copy(value, dtype));
  }
  if (file.names().size() != parameters.size())
    throw Error("\"" + file.path() + "\": " + std::to_string(file.names().size()) + " tensors, its config asks for " +
                std::to_string(parameters.size()));
}

}  // namespace weft
