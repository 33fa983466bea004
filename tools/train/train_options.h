// The options of weft train.
#pragma once
#include <weft/balance.h>
#include <weft/trainer.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/data_options.h"
#include "options/model_options.h"
#include "options/tokenizer_options.h"

// The value of --validation for runs of an earlier version of weft, whose run.json doesn't have this setting.
inline constexpr const char* every_tenth_row = "every-tenth";

// Whether the value of --validation is a share, which is a number above 0 and below 1. Throws an Error if the value is
// any other number.
bool is_share(const std::string& validation);

struct TrainOptions {
  ModelOptions model;
  TokenizerChoice tokenizer;
  DataOptions data_options;
  std::string text, data, test, out, log, from, resume, license, about;
  std::string validation = "0.1";    // a share of the rows, a file, a folder, or every_tenth_row
  std::string split = "80/10/10";    // see weft::text_split
  std::optional<std::int64_t> fold;  // index of this run's fold, from 0, if the run is one of several folds
  std::int64_t folds = 0;            // number of folds; 0: none. Without `fold`, all folds run one after the other.
  std::string pad_to;                // "exact", a number, or empty for the default of filled_length() in train_data.cpp
  std::optional<std::int64_t> batch, steps, warmup, micro_batches, eval_every;
  std::optional<double> epochs;
  std::int64_t patience = 0;
  std::string best_by = "loss";  // see metric_of() in best_by.h
  std::optional<double> lr, lr_floor;
  double label_smoothing = 0, word_dropout = 0;
  std::string balance;                       // one of weft::balances(); empty: none
  std::optional<double> focal, huber;        // see weft::ObjectiveOptions
  std::optional<std::int64_t> patch, shift;  // for pictures
  std::string positions;                     // for rows of numbers: one of weft::position_kinds(); empty: the default
  std::optional<std::int64_t> dimensions;    // of a text's vector, for the task retrieval
  std::optional<std::int64_t> loaders;       // see weft::TrainOptions
  std::optional<double> ema;                 // see weft::TrainOptions
  std::string exchange;                      // one of weft::precisions(), or empty: f32
  std::string fake_quant;                    // one of weft::quantizations(); "none" or empty: none
  std::string rates;                         // "NAME=FACTOR,…" for parameter groups
  bool flips = false;                        // for pictures
  std::string frames, target;                // names of a series' columns, separated by commas
  std::int64_t horizon = 1, season = 0;      // for a series
  weft::OptimizerOptions optimizer;
  std::string schedule = "cosine";
  weft::Precision precision = weft::Precision::f32;
  std::uint64_t seed = 1, split_seed = 0;
  weft::Ranks* ranks = nullptr;  // null without mpirun
  bool recompute = false, overwrite = false, keep_going = false, find_lr = false;

  void add_to(CLI::App& command);
  // Call this after parsing. It restores the rules that some options need --text or --data. These rules are suspended
  // during parsing, because run.json may name the data. check_partners() then checks the rules.
  void parsed() const;
  // Throws an Error if --log names a file that another option names, or a file that the run itself writes.
  void check_log(const CLI::App& command) const;
  // Returns the options of the trainer. Set `steps` before this call.
  weft::TrainOptions training(const weft::Model& made) const;
  weft::LearningOptions learning() const;

 private:
  std::vector<std::pair<CLI::Option*, CLI::Option*>> of_data_;  // options, each with the option that it needs
};
