// Selects the threads that run loops.
#pragma once
#include <cstdint>

#include "context/team.h"
#include "weft/context.h"

namespace weft::detail {

// Runs body(task, thread) for task = 0 … tasks-1 on at most `threads` threads, with thread < threads. The loop uses the
// executor if there is one, otherwise the region that the caller leads, otherwise a region of its own. The loop is
// serial inside a task and inside an OpenMP team of the host program. `context` is the current context of the workers.
// The first exception is rethrown.
void run_tasks(Context& context, Executor* executor, std::int64_t tasks, int threads, const TaskBody& body);

// Calls body on the calling thread, which leads a team that serves the loops of body.
void lead_region(int threads, FunctionRef<void()> body);

// Whether loops of the calling thread are serial.
bool loops_are_serial() noexcept;

// Throws an Error unless 1 <= count <= 1024.
void check_threads(int count);

}  // namespace weft::detail
