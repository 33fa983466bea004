// Writes and reads model cards as JSON.
#pragma once
#include <nlohmann/json.hpp>

#include "weft/model_card.h"

namespace weft::detail {

// Returns an object with the fields of the card that are not empty. Throws an Error if card_from_json could not read it.
nlohmann::ordered_json card_to_json(const ModelCard& card);

// Throws an Error if a field has the wrong type.
ModelCard card_from_json(const nlohmann::json& value);

}  // namespace weft::detail
