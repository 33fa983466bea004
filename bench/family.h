// A family of benchmarks: the sizes to run and what to call them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "work.h"

namespace weft::bench {

// A benchmark as registered, under the name KIND/WHO/LABEL/threads:T.
struct Entry {
  std::string kind, who, label;
  int threads;
  std::string name() const { return kind + "/" + who + "/" + label + "/threads:" + std::to_string(threads); }
};

// All so far, in order; one for the peer that has the kind, FFTW or oneDNN, follows weft's.
const std::vector<Entry>& entries();

// Registers one for weft and one for the peer that has the kind, at 1 and at `threads` threads, under the part of `kind`
// before a colon. The work is made when first run and kept: repetitions are interleaved.
void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads);
// Registers one for weft alone, at exactly `threads` threads. Counters besides the rates of Work: "cycles" an element (a
// cycle is what two FMA units need for a vector each, at the peak measured before each repetition) and "copy", the time of a plain-store copy of
// the same bytes, measured before each repetition, over the work's.
void add_work(const std::string& kind, const std::string& label, int threads, const std::function<Work()>& make);

void add_machine(int threads);
void add_dense(int threads);
void add_fft(int threads);
void add_toeplitz(int threads);
void add_fourier_mix(int threads);
void add_activation(int threads);
void add_norm(int threads);

}  // namespace weft::bench
