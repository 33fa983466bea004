/// \file
/// Model cards (Mitchell et al. 2018, arXiv 1810.03993): what a checkpoint says about the origin of its model.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Where a model comes from. Trainer::run fills the card of each checkpoint that it saves. Unknown fields are empty.
struct ModelCard {
  std::string license = {};   ///< the license of the parameters, such as "CC-BY-4.0"
  std::string about = {};     ///< a description in the author's words
  std::string data = {};      ///< the training and validation sets, see Data::fingerprint
  std::string settings = {};  ///< the settings of the training, a JSON object
  /// The metrics of the validation and their values, such as {"accuracy", 0.92}. Checkpoints leave out metrics that are
  /// not finite, and sort the others by name.
  std::vector<std::pair<std::string, double>> validation = {};
};

}  // namespace weft
WEFT_PUBLIC_END
