/// \file
/// All public headers.
#pragma once
#include "weft/activation.h"
#include "weft/architecture.h"
#include "weft/checkpoint.h"
#include "weft/classifier.h"
#include "weft/classifier_data.h"
#include "weft/config.h"
#include "weft/context.h"
#include "weft/cpu.h"
#include "weft/custom_op.h"
#include "weft/data.h"
#include "weft/dense.h"
#include "weft/encoded_text.h"
#include "weft/error.h"
#include "weft/fnet.h"
#include "weft/function_ref.h"
#include "weft/generate.h"
#include "weft/gmlp.h"
#include "weft/gradients.h"
#include "weft/labelled_texts.h"
#include "weft/layers.h"
#include "weft/memory.h"
#include "weft/model.h"
#include "weft/op.h"
#include "weft/ops.h"
#include "weft/optimizer.h"
#include "weft/os.h"
#include "weft/parameter.h"
#include "weft/parameter_set.h"
#include "weft/pointwise.h"
#include "weft/profile.h"
#include "weft/random.h"
#include "weft/rows.h"
#include "weft/run_folder.h"
#include "weft/safetensors.h"
#include "weft/schedule.h"
#include "weft/sentencepiece.h"
#include "weft/shape.h"
#include "weft/spectral.h"
#include "weft/tape.h"
#include "weft/task.h"
#include "weft/tensor.h"
#include "weft/tnn.h"
#include "weft/tokenizer.h"
#include "weft/trainer.h"
#include "weft/update_rules.h"
#include "weft/version.h"
#include "weft/vocabulary.h"

// Doxygen misses comments only of what stands in a namespace that has one.
/// \namespace weft
/// Tensors, differentiation, operations, models and their training.
/// \namespace weft::os
/// What weft asks of the operating system.
/// \namespace weft::raw
/// Loops over tensors that no tape records.
