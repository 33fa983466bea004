#include "checkpoint/load_parameters.h"

#include <cstring>
#include <unordered_map>

#include "base/for_inference.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

// Returns a copy of the value, and then releases the file's memory for it. While other weights are loaded, this weight
// is thus not in memory twice.
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

// Whether the value belongs to a parameter that has only a shape (detail::outline). All elements of such a value share
// one address.
bool is_outline(const Tensor& value) { return value.rank() > 0 && value.strides().back() == 0; }

// "a, b, c and 7 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

// A tensor of the file that holds a parameter's value.
struct Source {
  std::string tensor;
  std::function<Tensor(const Tensor&)> arrange;
};

Tensor value_of(const SafetensorsFile& file, const Source& source) {
  const Tensor value = file.load(source.tensor);
  return source.arrange ? source.arrange(value) : value;
}

class Loading {
 public:
  Loading(const NamedParameters& parameters, const SafetensorsFile& file, const Rename& rename)
      : file_(file), parameters_(parameters) {
    report_.file = file.path();
    for (std::size_t i = 0; i < parameters_.size(); ++i) index_.emplace(parameters_[i].first, i);
    sources_.resize(parameters_.size());
    for (const std::string& name : file.names()) assign_role(name, rename ? rename(name) : TensorRole(name));
    for (std::size_t i = 0; i < parameters_.size(); ++i) check(i);
  }

  const LoadReport& report() const { return report_; }

  void check_writable() const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (!sources_[i].empty() && !parameters_[i].second.writable())
        throw Error(lent_message(parameters_[i].second, "[load_parameters] " + parameters_[i].first));
  }

  void write(Purpose purpose) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (!sources_[i].empty()) write(parameters_[i].second, sources_[i].front(), purpose);
  }

 private:
  void assign_role(const std::string& tensor, TensorRole role) {
    const auto found = index_.find(role.parameter);
    if (role.parameter.empty()) report_.left_out.push_back(tensor);
    else if (found == index_.end()) report_.unused.push_back(tensor);
    else sources_[found->second].push_back({tensor, std::move(role.arrange)});
  }

  // Checks the sources of parameter i, and removes them if they don't fit.
  void check(std::size_t i) {
    const auto& [name, parameter] = parameters_[i];
    std::vector<Source>& sources = sources_[i];
    if (sources.empty()) return report_.missing.push_back(name);
    std::string misfit;
    for (std::size_t k = 0; k < sources.size() && misfit.empty(); ++k) misfit = misfit_of(sources[k], name, parameter);
    for (std::size_t k = 1; k < sources.size() && misfit.empty(); ++k)
      if (!same_bits(value_of(file_, sources[0]), value_of(file_, sources[k])))
        misfit = sources[0].tensor + " and " + sources[k].tensor + " both hold " + name + ", but differ";
    if (misfit.empty()) return report_.loaded.push_back(name);
    report_.misshapen.push_back(misfit);
    sources.clear();
  }

  // Returns why the tensor doesn't fit, or an empty text if it fits. A tensor that must be rearranged is loaded for
  // this check.
  std::string misfit_of(const Source& source, const std::string& name, const Parameter& parameter) const {
    const std::string who = source.tensor + (source.tensor == name ? "" : " (" + name + ")");
    const std::string& stored = file_.stored_dtype(source.tensor);
    if (stored != "F32" && stored != "F64" && stored != "F16" && stored != "BF16")
      return who + " is " + stored + ", expected " + dtype_name(parameter.value().dtype());
    const Shape& wanted = parameter.value().shape();
    Shape shape = file_.shape(source.tensor);
    if (source.arrange) try {
        shape = value_of(file_, source).shape();
      } catch (const Error& error) {
        return who + " is " + to_string(shape) + ", which can't be rearranged to " + to_string(wanted) + ": " +
               error.what();
      }
    if (shape == wanted) return "";
    return who + " is " + to_string(shape) + (source.arrange ? " after rearranging" : "") +
           ", but the config requires " + to_string(wanted);
  }

  // A parameter that owns its memory may be part of a flat buffer, so its elements are overwritten in place.
  void write(const Parameter& parameter, const Source& source, Purpose purpose) const {
    const DType dtype = parameter.value().dtype();
    const Tensor value = value_of(file_, source);
    if (purpose == Purpose::inference)
      lend(parameter, value.dtype() == dtype ? raw::contiguous(value) : own_copy(value, dtype), loaded_for_inference);
    else if (is_outline(parameter.value())) rebind(parameter, own_copy(value, dtype));
    else Parameter(parameter).assign(value.dtype() == dtype ? value : raw::convert(value, dtype));
  }

  const SafetensorsFile& file_;
  NamedParameters parameters_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::vector<Source>> sources_;  // for each parameter; all sources of a parameter have the same value
  LoadReport report_;
};

}  // namespace

bool detail::same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = raw::contiguous(a), y = raw::contiguous(b);
  return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * dtype_size(x.dtype())) == 0;
}

std::string LoadReport::text() const {
  if (complete()) return "";
  std::string all;
  const auto add = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty()) all += (all.empty() ? "" : "; ") + what + some_of(names);
  };
  add("", misshapen);
  add("there are no tensors for these parameters: ", missing);
  add("there are tensors that the config does not require: ", unused);
  return "\"" + file + "\": " + all;
}

ParameterBudget detail::contents(const SafetensorsFile& file) {
  ParameterBudget all;
  for (const std::string& name : file.names()) {
    ++all.parameters;
    all.elements += numel(file.shape(name));
  }
  return all;
}

ParameterBudget detail::more_than_contents(const SafetensorsFile& file) {
  ParameterBudget all = contents(file);
  all.parameters += 100;
  all.elements += all.elements + (1 << 20);
  return all;
}

LoadReport load_parameters(const Model& model, const SafetensorsFile& file, const Rename& rename,
                           const LoadParametersOptions& options) {
  return load_parameters(model.parameters(), file, rename, options);
}

LoadReport load_parameters(const NamedParameters& parameters, const SafetensorsFile& file, const Rename& rename,
                           const LoadParametersOptions& options) {
  return guard_memory("load_parameters", [&] {
    const Loading loading(parameters, file, rename);
    if (!options.partial && !loading.report().complete()) throw Error(loading.report().text());
    loading.check_writable();
    loading.write(options.purpose);
    return loading.report();
  });
}

}  // namespace weft
