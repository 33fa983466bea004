// weft train in several processes, which mpirun started.
#pragma once
#include <weft/ranks.h>

#include <memory>

// This process's ranks if mpirun started it with others to train; else null. From then on only rank 0 prints, and the
// default number of threads is this rank's share of the machine. Error if weft has no MPI, or another one than mpirun.
std::unique_ptr<weft::Ranks> start_ranks(int argc, char** argv);

inline bool is_first(const weft::Ranks* ranks) { return ranks == nullptr || ranks->rank() == 0; }
