// The serial backend. Loops run on the caller's thread or on the threads of an executor.
#include "context/backend.h"

namespace weft::detail {

bool in_foreign_team() noexcept { return false; }

int backend_cpus() noexcept { return 0; }

void with_team(int, FunctionRef<void(Team&)> lead) {
  Team team(1);
  lead(team);
}

}  // namespace weft::detail
