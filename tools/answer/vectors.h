// Computes the vectors of a file's texts, and reads and writes files of vectors.
#pragma once
#include <weft/embed.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "options/checkpoint_option.h"
#include "options/data_options.h"

// The options of weft embed and weft nearest for the model and its vectors.
struct VectorOptions {
  CheckpointOption checkpoint;
  std::optional<weft::Pooling> pooling;

  void add_to(CLI::App& command);
  weft::Embedder embedder() const;  // loads the model
};

// Calls use(text, vector) for each text of the file, in order. Computes the vectors of several texts together.
// If the model truncates some of the texts, prints their number to standard error.
void for_each_vector(const std::string& file, const DataOptions& data_options, const weft::Embedder& embedder,
                     const std::function<void(const std::string& text, const std::vector<float>& vector)>& use);

// Returns the bytes of a file in NumPy's format that contains these numbers (rows, columns).
std::string npy_of(const std::vector<float>& numbers, std::int64_t rows, std::int64_t columns);

// Reads the f32 vectors (n, d) from a file in NumPy's format.
weft::Tensor read_vectors(const std::string& path);
