// Used for reading and writing TNNs as state dicts of OpenNLPLab's fairseq (github.com/OpenNLPLab/fairseq-evo,
// models/lm_tnn/tnn_v2_lm.py) and of the authors' tnn-pytorch (github.com/Doraemonzzz/tnn-pytorch). A config.json
// contains the settings that can't be derived from shapes, under the names of these programs' arguments. A missing
// argument has its default value, which is the same as in TnnConfig.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/name_table.h"
#include "weft/checkpoint.h"
#include "weft/tnn.h"

namespace weft::detail::tnn_formats {

// An argument of the other program and the corresponding field of TnnConfig.
struct Argument {
  const char *theirs, *ours;
  bool of_tensors = false;  // the tensors determine the value, and a different value is an Error
};

// A feature that weft's TNN doesn't support. It is recognized by a part of a tensor's name, or by the end of the name.
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

struct TnnFormat {
  const char *name, *meaning;
  const char* layers;  // the pattern that the names of a layer's tensors match
  std::vector<NamePair> names;
  std::vector<Task> tasks;
  std::vector<Argument> arguments;
  std::vector<Feature> unknown;
  std::vector<Refused> refused;
  bool is_fairseq;
};

inline const char* const version_name = "decoder.version";  // a tensor of fairseq's decoders

// In tnn-pytorch, the names in the layers are the same as in weft.
inline std::string their(const TnnFormat& format, const std::string& ours) {
  return their_name(format.names, ours).value_or(ours);
}
inline std::string our(const TnnFormat& format, const std::string& theirs) {
  return our_name(format.names, theirs).value_or(theirs);
}

// The other programs' names of activations. If an activation has several names, the first one is written. For an
// unknown name these programs use the identity, but weft throws an Error.
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
// Returns null if the other programs have no such activation.
inline const char* activation_there(Activation ours) {
  for (const ActivationName& known : activations)
    if (ours == known.value) return known.name;
  return nullptr;
}

inline bool is_activation(const std::string& field) { return field.find("act") != std::string::npos; }

// The function that writes the format, see weft/checkpoint_format.h.
std::vector<std::string> save(const TnnFormat& format, const std::string& folder, const Checkpoint& checkpoint);

}  // namespace weft::detail::tnn_formats
