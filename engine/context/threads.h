// Where loops find their threads.
#pragma once
#include <cstdint>

#include "context/team.h"
#include "weft/context.h"

namespace weft::detail {

// Runs body(task, thread) for task = 0 … tasks-1 on at most `threads` threads, thread < threads, of: the executor, if
// there is one; else the region that the caller leads; else one for this loop alone. Serial inside of a task, and where
// the caller is one of a team of another OpenMP program. The workers' current context is `context`. The first exception
// is rethrown.
void run_tasks(Context& context, Executor* executor, std::int64_t tasks, int threads, const TaskBody& body);

// Calls body, as leader of a team that serves its loops.
void lead_region(int threads, FunctionRef<void()> body);

// Whether loops of the calling thread are serial.
bool loops_are_serial() noexcept;

// Error unless 1 <= count <= 1024.
void check_threads(int count);

}  // namespace weft::detail
