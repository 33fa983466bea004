// Supports weft train in several processes that mpirun starts.
#pragma once
#include <weft/ranks.h>

#include <memory>

// Returns the ranks if mpirun started several processes of weft train, else null. After this call, only rank 0 prints,
// and the default number of threads is this rank's share of the machine. Throws an Error if weft was built without MPI,
// or if weft uses a different MPI library than mpirun does.
std::unique_ptr<weft::Ranks> start_ranks(int argc, char** argv);

inline bool is_first(const weft::Ranks* ranks) { return ranks == nullptr || ranks->rank() == 0; }
