// The build's source of threads: backend_NAME.cpp, NAME being WEFT_THREADS.
#pragma once
#include "context/team.h"

namespace weft::detail {

// Calls lead(team) on the calling thread, member 0 of a team of `threads`, whose others serve it meanwhile. They may be
// fewer than asked. Rethrows what `lead` throws.
void with_team(int threads, FunctionRef<void(Team&)> lead);

// Whether the calling thread belongs to a team that the host program made, by the same means as the backend.
bool in_foreign_team() noexcept;

// CPUs that the backend knows of; 0 if it doesn't care.
int backend_cpus() noexcept;

}  // namespace weft::detail
