// A family of benchmarks: the sizes to run and what to call them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operations/kinds.h"

namespace weft::bench {

// What weft's work is held against, in turn with it: a peer's, or a plainer one of weft.
struct Rival {
  std::string name;
  std::function<Work(int threads)> make;
};

// A benchmark as registered, under the name KIND/LABEL/threads:T.
struct Entry {
  std::string kind, label;
  int threads;
  std::string rival;  // "" if there is none
  std::string name() const { return kind + "/" + label + "/threads:" + std::to_string(threads); }
};

// All so far, in order.
const std::vector<Entry>& entries();

// Registers one at 1 and at `threads` threads, under the part of `kind` before a colon, with the rival given, or else the
// peer that has the kind, FFTW or oneDNN. The work is made when first run and kept: repetitions are interleaved.
void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads,
                    std::optional<Rival> rival = {});
// Registers one without a rival, at exactly `threads` threads.
void add_work(const std::string& kind, const std::string& label, int threads, const std::function<Work()>& make);

void add_machine(int threads);
void add_dense(int threads);
void add_fft(int threads);
void add_toeplitz(int threads);
void add_fourier_mix(int threads);
void add_activation(int threads);
void add_norm(int threads);

}  // namespace weft::bench
