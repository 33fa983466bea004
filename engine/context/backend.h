// The thread backend of this build. The build option WEFT_THREADS is the NAME of the file that implements it,
// backend_NAME.cpp.
#pragma once
#include "context/team.h"

namespace weft::detail {

// Calls lead(team) on the calling thread, which is member 0 of a team of `threads`. Meanwhile the other members serve
// the team. The team may have fewer members than requested. Rethrows exceptions of `lead`.
void with_team(int threads, FunctionRef<void(Team&)> lead);

// Whether the calling thread belongs to a team that the host program created with the backend's threading runtime.
bool in_foreign_team() noexcept;

// The number of CPUs that the backend knows of, or 0 if the backend does not track it.
int backend_cpus() noexcept;

}  // namespace weft::detail
