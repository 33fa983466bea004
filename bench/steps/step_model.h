// The models that are measured: stacks of blocks, or whole language models.
#pragma once
#include <functional>
#include <string>

#include "weft/layers.h"
#include "weft/precision.h"

namespace weft::bench {

struct StepSizes {
  std::string model;  // "gmlp", "tnn", "fnet", or "attention" of models/examples
  std::int64_t batch = 8, seq_len = 512, d_model = 512, layers = 6;
  std::int64_t d_ffn = 2048;                                                   // gmlp, fnet, attention
  std::int64_t glu_dim = 512, expand_ratio = 3, rpe_dim = 32, rpe_layers = 3;  // tnn
  std::int64_t heads = 8, query_block = 0;                                     // attention
  std::int64_t vocabulary = 0;                                                 // 0: only the stack of blocks
  Precision precision = Precision::f32;                                        // precision of the activations
  bool batch_first = false;  // gmlp: sequences (b, n, d), as in programs, instead of (n, b, d)
  bool recompute = false;    // recompute each block in backward
  bool int8 = false;         // quantized weights, only for forward passes
};

// The sizes of the original experiments.
StepSizes default_sizes(const std::string& model);

struct StepModel {
  Tensor x, target;  // tokens and targets; for blocks only x, with normal numbers
  std::function<Tensor()> forward;
  NamedParameters parameters;
  double gemm_flops = 0;   // forward: 2 M N K of each linear layer and of spatial gating with all n² weights
  double other_flops = 0;  // forward: 5 n log2 n of each complex transform, half as much of a real one
};

// Makes a model. Its parameters and input are the same in every run.
StepModel make_step_model(const StepSizes& sizes);

// mean(y²) of a stack of blocks, or the cross-entropy of a language model.
Tensor step_loss(const StepModel& model);

}  // namespace weft::bench
