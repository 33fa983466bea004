// Shared by reading and writing TNNs of OpenNLPLab's fairseq (github.com/OpenNLPLab/fairseq-evo,
// models/lm_tnn/tnn_v2_lm.py) and of the authors' tnn-pytorch (github.com/Doraemonzzz/tnn-pytorch), as state dicts. A
// config.json holds what doesn't follow from shapes, under the names of their arguments. Missing arguments have their
// defaults, which are those of TnnConfig.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "forms/name_table.h"
#include "weft/checkpoint.h"
#include "weft/tnn.h"

namespace weft::detail::tnn_forms {

// One of their arguments and the corresponding field of TnnConfig.
struct Argument {
  const char *theirs, *ours;
  bool of_tensors = false;  // it follows from the tensors: another value is an Error
};

// A feature that weft's TNN doesn't support, recognized by a part of a tensor's name, or by its end.
struct Feature {
  const char* part;
  bool at_end;
  const char* what;
};

// A value of an argument that weft's TNN doesn't support.
struct Refused {
  const char* theirs;
  nlohmann::json value;
  const char* what;
};

struct TnnForm {
  const char *name, *meaning;
  const char* layers;  // pattern of the names of a layer's tensors
  std::vector<NamePair> names;
  std::vector<Task> tasks;
  std::vector<Argument> arguments;
  std::vector<Feature> unknown;
  std::vector<Refused> refused;
  bool is_fairseq;
};

inline const char* const version_name = "decoder.version";  // a tensor of fairseq's decoders

// In tnn-pytorch, the names in the layers are the same as in weft.
inline std::string their(const TnnForm& form, const std::string& ours) {
  return their_name(form.names, ours).value_or(ours);
}
inline std::string our(const TnnForm& form, const std::string& theirs) {
  return our_name(form.names, theirs).value_or(theirs);
}

// Their names of activations; if there are several, the first is written. For any other name they use the identity, but
// weft reports an error.
inline constexpr ActivationName activations[] = {
    {Activation::none, "none"},          {Activation::none, "None"},
    {Activation::none, "identity"},      {Activation::gelu, "gelu"},
    {Activation::relu, "relu"},          {Activation::elu, "elu"},
    {Activation::sigmoid, "sigmoid"},    {Activation::exp, "exp"},
    {Activation::leaky_relu, "leak"},    {Activation::one_plus_elu, "1+elu"},
    {Activation::two_plus_elu, "2+elu"}, {Activation::silu, "silu"},
};
inline std::optional<Activation> activation_in(const std::string& theirs) {
  for (const ActivationName& known : activations)
    if (theirs == known.name) return known.value;
  return std::nullopt;
}
// Null if they have no such activation.
inline const char* activation_there(Activation ours) {
  for (const ActivationName& known : activations)
    if (ours == known.value) return known.name;
  return nullptr;
}

inline bool is_activation(const std::string& field) { return field.find("act") != std::string::npos; }

// The format's function for writing, see weft/checkpoint_form.h.
std::vector<std::string> save(const TnnForm& form, const std::string& folder, const Checkpoint& checkpoint);

}  // namespace weft::detail::tnn_forms
