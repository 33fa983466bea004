// Vectors of the texts of a file, and files of vectors.
#pragma once
#include <weft/embed.h>

#include <functional>
#include <string>
#include <vector>

#include "options/data_options.h"

// Calls use(text, vector) for each text of the file, in order. Several texts share the threads.
void for_each_vector(const std::string& file, const DataOptions& form, const weft::Embedder& embedder,
                     const std::function<void(const std::string& text, const std::vector<float>& vector)>& use);

// A file in NumPy's format with these numbers (rows, columns).
std::string npy_of(const std::vector<float>& numbers, std::int64_t rows, std::int64_t columns);

// The vectors (n, d) f32 of such a file.
weft::Tensor read_vectors(const std::string& path);
