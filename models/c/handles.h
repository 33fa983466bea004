// What the handles of weft/weft_c.h hold.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/classifier.h"

// Streams keep the checkpoint, too.
struct weft_model {
  std::shared_ptr<const weft::Classifier> classifier;  // of a classifier; it has the checkpoint
  std::shared_ptr<const weft::Checkpoint> saved;
  std::string config;  // as weft_info shows it
  std::int64_t parameters = 0;

  const weft::Model& model() const noexcept { return *saved->model; }
};

struct weft_stream {
  std::shared_ptr<const weft::Checkpoint> saved;
  std::unique_ptr<weft::TokenStream> tokens;
};
