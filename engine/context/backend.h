// The thread backend of this build. The file backend_NAME.cpp implements it, where NAME is the value of the build
// option WEFT_THREADS.
#pragma once
#include "context/team.h"

namespace weft::detail {

// Calls lead(team) on the calling thread, which is member 0 of a team of `threads`. Meanwhile the other members serve
// the team. The team may have fewer members than requested. If `lead` throws, with_team rethrows the exception.
void with_team(int threads, FunctionRef<void(Team&)> lead);

// Whether the calling thread belongs to a team that the host program created with the backend's threading runtime.
bool in_foreign_team() noexcept;

// The number of CPUs that the backend's threading runtime may use, or 0 if the backend does not report it.
int backend_cpus() noexcept;

}  // namespace weft::detail
