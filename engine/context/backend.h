// The build's source of threads. backend_NAME.cpp implements it, where NAME is WEFT_THREADS.
#pragma once
#include "context/team.h"

namespace weft::detail {

// Calls lead(team) on the calling thread, which is member 0 of a team of `threads`. The other members serve the team
// meanwhile; there may be fewer than requested. Rethrows exceptions of `lead`.
void with_team(int threads, FunctionRef<void(Team&)> lead);

// Whether the calling thread belongs to a team that the host program created with the backend's threading runtime.
bool in_foreign_team() noexcept;

// The number of CPUs that the backend knows of; 0 if the backend does not track it.
int backend_cpus() noexcept;

}  // namespace weft::detail
