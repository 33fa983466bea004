// For commands that change the parameters of a checkpoint.
#pragma once
#include <weft/checkpoint.h>

// Removes the results of the validation, which were measured with other parameters.
inline void forget_validation(weft::CheckpointInfo& info) {
  info.validation_loss.reset();
  info.card.validation.clear();
}
