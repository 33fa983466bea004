// Teams of standard library threads, which are kept for reuse.
#pragma once
#include "context/team.h"

namespace weft::detail {

// Does the same as with_team in backend.h. If the system refuses threads, the team has fewer members.
void with_pooled_team(int threads, FunctionRef<void(Team&)> lead);

}  // namespace weft::detail
