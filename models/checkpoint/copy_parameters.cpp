// Copies parameters from one model to another, whose head may be different.
#include <algorithm>
#include <map>

#include "data/labels.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/quantize.h"

namespace weft {
using namespace detail;

namespace {

// Whether the shapes differ only in the number of the models' outputs.
bool is_output(const Shape& a, const Shape& b, const Model& from, const Model& to) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](std::int64_t x, std::int64_t y) {
    return x == y || (x == from.outputs() && y == to.outputs());
  });
}

// Returns the names of the classifier's parameters that have a slice for each output, and the axis of these slices. The
// shapes of these parameters change if the model has one more output.
std::map<std::string, std::size_t> head_axes(const Model& model) {
  ModelSpec spec{model.arch(),
                 model.task(),
                 model.vocabulary(),
                 model.outputs() + 1,
                 model.config_for(model.task()),
                 model.input(),
                 {}};
  Init shapes;
  shapes.shapes_only = true;
  std::map<std::string, Shape> wider;
  for (const auto& [name, parameter] : make_model(spec, shapes)->parameters())
    wider.emplace(name, parameter.value().shape());
  std::map<std::string, std::size_t> axes;
  for (const auto& [name, parameter] : model.parameters()) {
    const Shape& shape = parameter.value().shape();
    const auto found = wider.find(name);
    if (found == wider.end() || found->second.size() != shape.size()) continue;
    const auto differs = std::mismatch(shape.begin(), shape.end(), found->second.begin()).first;
    if (differs != shape.end()) axes.emplace(name, differs - shape.begin());
  }
  return axes;
}

// Returns `value`, with some slices along `axis` replaced by slices of `trained`. Each pair in `same` has the index of
// a slice of `trained` and the index of the slice of `value` that it replaces.
Tensor with_outputs(const Tensor& value, const Tensor& trained, std::size_t axis,
                    const std::vector<std::pair<std::int64_t, std::int64_t>>& same) {
  const auto along = static_cast<std::int64_t>(axis);
  const Tensor known = raw::convert(trained, value.dtype());
  std::vector<Tensor> slices;
  for (std::int64_t i = 0; i < value.size(along); ++i) slices.push_back(slice(value, along, i, i + 1));
  for (const auto& [from, to] : same) slices[static_cast<std::size_t>(to)] = slice(known, along, from, from + 1);
  return concat(slices, along);
}

std::map<std::string, Tensor> values_of(const Model& model) {
  std::map<std::string, Tensor> values;
  for (const auto& [name, parameter] : model.parameters()) values.emplace(name, parameter.value());
  return values;
}

void check_not_quantized(const Model& from, const Model& to) {
  for (const Model* model : {&from, &to})
    if (quantized_to(model->parameters()))
      throw Error(std::string("[checkpoint] the model ") +
                  (model == &from ? "whose parameters are copied" : "that receives the parameters") +
                  " is quantized, so it can only be used for inference: use the original model");
}

// Returns the names of the parameters that are not copied; these always include those of `heads`.
std::vector<std::string> copy_but_heads(const Model& from, const Model& to,
                                        const std::map<std::string, std::size_t>& heads) {
  check_not_quantized(from, to);
  const std::map<std::string, Tensor> values = values_of(from);
  std::vector<std::string> others;
  NamedParameters parameters = to.parameters();
  for (const auto& [name, parameter] : parameters) {
    const auto found = values.find(name);
    const Shape& shape = parameter.value().shape();
    if (found == values.end() || found->second.shape() != shape || heads.count(name) > 0) others.push_back(name);
    if (found != values.end() && found->second.shape() != shape && !is_output(found->second.shape(), shape, from, to))
      throw Error("[checkpoint] " + name + " is " + to_string(found->second.shape()) +
                  ", but the model that receives it has " + to_string(shape));
  }
  if (others.size() == parameters.size())
    throw Error(std::string("[checkpoint] the model that receives the parameters (") + to.arch() +
                ") has no parameter in common with the model whose parameters are copied (" + from.arch() + ")");
  for (auto& [name, parameter] : parameters)
    if (std::find(others.begin(), others.end(), name) == others.end())
      parameter.assign(raw::convert(values.at(name), parameter.value().dtype()));
  return others;
}

}  // namespace

std::vector<std::string> copy_parameters(const Model& from, const Model& to) try {
  return copy_but_heads(from, to, {});
} catch (const std::bad_alloc&) {
  fail_out_of_memory("checkpoint");
}

std::vector<std::string> copy_parameters(const Checkpoint& from, const Model& to,
                                         const std::vector<std::string>& labels) try {
  const Model& source = *from.model;
  if (std::ssize(labels) != to.outputs())
    throw Error("[checkpoint] expected " + std::to_string(to.outputs()) +
                " labels, one for each output of the model, got " + std::to_string(labels.size()));
  const NoGrad suspended;
  auto known = from.info.labels;
  if (known.empty() && source.task() == to.task()) known = numbered_labels(source.outputs());
  const std::map<std::string, std::size_t> heads = head_axes(to);
  std::vector<std::string> others = copy_but_heads(source, to, heads);
  std::vector<std::pair<std::int64_t, std::int64_t>> same;  // an output of `source` and the same output of `to`
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const auto found = std::find(known.begin(), known.end(), labels[i]); found != known.end())
      same.emplace_back(found - known.begin(), i);
  if (same.empty()) return others;
  const std::map<std::string, Tensor> trained = values_of(source);
  NamedParameters parameters = to.parameters();
  for (auto& [name, parameter] : parameters) {
    const auto head = heads.find(name);
    const auto value = trained.find(name);
    if (head == heads.end() || value == trained.end()) continue;
    parameter.assign(with_outputs(parameter.value(), value->second, head->second, same));
    others.erase(std::remove(others.begin(), others.end(), name), others.end());
  }
  return others;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("checkpoint");
}

}  // namespace weft
