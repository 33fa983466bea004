// weft train --find-lr: prints losses at growing learning rates, and the rate that they suggest.
#pragma once
#include "train/train_options.h"

// Returns the command's exit code. Nothing is saved.
int find_learning_rate(TrainOptions& o);
