// What reading and writing TNNs share: those of OpenNLPLab's fairseq (github.com/OpenNLPLab/fairseq-evo,
// models/lm_tnn/tnn_v2_lm.py) and of the authors' tnn-pytorch (github.com/Doraemonzzz/tnn-pytorch), as state dicts. What shapes
// don't say is in a config.json under their arguments' names, or as these are by default, which is as in TnnConfig.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "forms/name_table.h"
#include "weft/checkpoint.h"
#include "weft/tnn.h"

namespace weft::detail::tnn_forms {

// An argument of theirs, and the field of TnnConfig that it is.
struct Argument {
  const char *theirs, *ours;
  bool of_tensors = false;  // the tensors say it: another value is an Error
};

// What weft's TNN hasn't, by a part of a tensor's name, or its end.
struct Feature {
  const char* part;
  bool at_end;
  const char* what;
};

// An argument that weft's TNN has no other value for.
struct Refused {
  const char* theirs;
  nlohmann::json value;
  const char* what;
};

struct TnnForm {
  const char *name, *meaning;
  const char* layers;  // of the names of their tensors
  std::vector<NamePair> names;
  std::vector<Task> tasks;
  std::vector<Argument> arguments;
  std::vector<Feature> unknown;
  std::vector<Refused> refused;
  bool is_fairseq;
};

inline const char* const version_name = "decoder.version";  // of fairseq's decoders, a tensor

// Of the layers the names are ours in tnn-pytorch.
inline std::string their(const TnnForm& form, const std::string& ours) {
  return their_name(form.names, ours).value_or(ours);
}
inline std::string our(const TnnForm& form, const std::string& theirs) {
  return our_name(form.names, theirs).value_or(theirs);
}

// Their names, the first to write where there are several. Any other is the identity there, which weft doesn't guess.
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
// Null: they have none such.
inline const char* activation_there(Activation ours) {
  for (const ActivationName& known : activations)
    if (ours == known.value) return known.name;
  return nullptr;
}

inline bool is_activation(const std::string& field) { return field.find("act") != std::string::npos; }

// The form's function to write, see weft/checkpoint_form.h.
std::vector<std::string> save(const TnnForm& form, const std::string& folder, const Checkpoint& checkpoint);

}  // namespace weft::detail::tnn_forms
