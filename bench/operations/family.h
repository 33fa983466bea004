// A family of benchmarks: its sizes and names.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operations/kinds.h"

namespace weft::bench {

// The work that weft's is compared with, the two run alternately: a peer's, or simpler work of weft.
struct Rival {
  std::string name;
  std::function<Work(int threads)> make;
};

// A registered benchmark; its name is KIND/LABEL/threads:T.
struct Entry {
  std::string kind, label;
  int threads;
  std::string rival;  // "" if there is none
  std::string name() const { return kind + "/" + label + "/threads:" + std::to_string(threads); }
};

// All registered benchmarks so far, in order.
const std::vector<Entry>& entries();

// Registers a benchmark with 1 and with `threads` threads. Its name is the part of `kind` before a colon. The peer is
// the given one, or otherwise FFTW or oneDNN if it has the kind. The work is made at the first run and kept, because
// repetitions are interleaved.
void add_benchmarks(const std::string& kind, const Sizes& sizes, const std::string& label, int threads,
                    std::optional<Rival> rival = {});
// Registers a benchmark without a peer, with exactly `threads` threads.
void add_work(const std::string& kind, const std::string& label, int threads, const std::function<Work()>& make);

void add_machine(int threads);
void add_dense(int threads);
void add_fft(int threads);
void add_toeplitz(int threads);
void add_fourier_mix(int threads);
void add_activation(int threads);
void add_norm(int threads);

}  // namespace weft::bench
