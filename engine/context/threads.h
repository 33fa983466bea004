// The thread pool: the one place that names OpenMP is threads.cpp.
#pragma once
#include <cstdint>

#include "weft/context.h"

namespace weft::detail {

// Runs body(task, thread) for task = 0 … tasks-1 on at most `threads` threads, thread < threads. Serial inside a
// parallel region. The workers' current context is `context`. The first exception is rethrown.
void run_tasks(Context& context, std::int64_t tasks, int threads,
               FunctionRef<void(std::int64_t task, int thread)> body);

bool in_parallel_region() noexcept;

}  // namespace weft::detail
