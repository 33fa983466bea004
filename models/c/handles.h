// The objects behind the handles of weft/weft_c.h.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/classifier.h"
#include "weft/generate.h"

// A stream shares the checkpoint, so it can outlive its weft_model.
struct weft_model {
  std::shared_ptr<const weft::Classifier> classifier;  // only for classifiers; it then owns the checkpoint
  std::shared_ptr<const weft::Checkpoint> saved;
  std::string config;  // the text in weft_info
  std::int64_t parameters = 0;

  const weft::Model& model() const noexcept { return *saved->model; }
};

struct weft_stream {
  std::shared_ptr<const weft::Checkpoint> saved;
  std::unique_ptr<weft::TokenStream> tokens;
};

struct weft_generation {
  std::shared_ptr<const weft::Checkpoint> saved;
  weft::Generation symbols;
  std::string text = {};  // of the latest symbol
};
