// weft train --find-lr: prints the losses at increasing learning rates, and suggests a rate.
#pragma once
#include "train/train_options.h"

// Saves nothing. Returns the command's exit code.
int find_learning_rate(TrainOptions& o);
