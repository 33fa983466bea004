// Teams of the standard library's threads, kept for the next who wants one.
#pragma once
#include "context/team.h"

namespace weft::detail {

// As with_team of backend.h. Where the system refuses threads, with fewer.
void with_pooled_team(int threads, FunctionRef<void(Team&)> lead);

}  // namespace weft::detail
