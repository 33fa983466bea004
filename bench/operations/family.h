// Registers families of benchmarks with their sizes and names.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operations/kinds.h"

namespace weft::bench {

// The work with which weft's work is compared: that of a peer, or simpler work of weft. Both run alternately.
struct Rival {
  std::string name;
  std::function<Work(int threads)> make;
};

// A registered benchmark. Its name is KIND/LABEL/threads:T.
struct Entry {
  std::string kind, label;
  int threads;
  std::string rival;  // "" if there is none
  std::string name() const { return kind + "/" + label + "/threads:" + std::to_string(threads); }
};

// All benchmarks registered so far, in the order of registration.
const std::vector<Entry>& entries();

// Registers a benchmark with 1 thread and one with `threads` threads. If `kind` contains a colon, only the part before
// it becomes part of the name. The peer is `rival` if it is given, otherwise FFTW or oneDNN if one of them supports the
// kind. The first run prepares the work. Later runs reuse it, because repetitions of different benchmarks are
// interleaved.
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
void add_memory_bound(int threads);

}  // namespace weft::bench
