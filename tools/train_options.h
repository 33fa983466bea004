// The options of weft train.
#pragma once
#include <weft/trainer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data_options.h"
#include "model_options.h"
#include "tokenizer_options.h"

struct TrainOptions {
  ModelOptions model;
  TokenizerChoice tokenizer;
  DataOptions form;
  std::string text, data, test, out, log, from, resume;
  std::string pad_to;  // "exact", a number, or empty: filled_length() of train_data.cpp
  std::optional<std::int64_t> batch, steps, warmup, micro_batches;
  std::int64_t eval_every = 500, patience = 0;
  std::optional<double> lr, lr_floor;
  double label_smoothing = 0, word_dropout = 0;
  weft::OptimizerOptions optimizer;
  std::string schedule = "cosine";
  weft::Precision precision = weft::Precision::f32;
  std::uint64_t seed = 1;
  weft::Ranks* ranks = nullptr;  // null: not under mpirun
  bool recompute = false, overwrite = false, keep_going = false;

  void add_to(CLI::App& command);
  // After parsing: which options are of use with rows alone, which run.json may name. See check_partners.
  void parsed(CLI::App& command) const;
  // Error if --log names a file that is read, as every option that names a file does, or that the run itself writes.
  void check_log(const CLI::App& command) const;
  weft::TrainOptions training(const weft::Model& made) const;

 private:
  std::vector<CLI::Option*> of_rows_;
};
