// The pool backend, with threads of the C++ standard library.
#include "context/backend.h"
#include "context/pool.h"

namespace weft::detail {

bool in_foreign_team() noexcept { return false; }

int backend_cpus() noexcept { return 0; }

void with_team(int threads, FunctionRef<void(Team&)> lead) { with_pooled_team(threads, lead); }

}  // namespace weft::detail
