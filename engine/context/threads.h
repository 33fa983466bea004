// Selects the threads that run loops.
#pragma once
#include <cstdint>

#include "context/team.h"
#include "weft/context.h"

namespace weft::detail {

// Runs body(task, thread) for task = 0 … tasks-1 on at most `threads` threads, with thread < threads. The loop uses the
// executor if there is one, otherwise the team of the region that the caller leads, otherwise a new team. The loop is
// serial inside a task and inside an OpenMP team of the host program. `context` is the current context during each
// task. If a task throws, run_tasks rethrows the first exception.
void run_tasks(Context& context, Executor* executor, std::int64_t tasks, int threads, const TaskBody& body);

// Calls body on the calling thread. Meanwhile this thread leads a team, which runs the loops in body.
void lead_region(int threads, FunctionRef<void()> body);

// Whether loops that the calling thread starts are serial.
bool loops_are_serial() noexcept;

// Throws an Error unless 1 <= count <= 1024.
void check_threads(int count);

}  // namespace weft::detail
