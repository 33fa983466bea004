// The signals that a server obeys.
#pragma once

namespace serve {

enum class Wish { stop, reload };

// Blocks SIGINT, SIGTERM and SIGHUP. Call this before the first thread starts, because threads inherit it.
void block_signals();
// Waits for SIGINT or SIGTERM (stop), or SIGHUP (reload).
Wish wait_for_signal();
// Makes wait_for_signal() return Wish::stop.
void ask_to_stop();
// After this call, SIGINT and SIGTERM end the process immediately.
void unblock_stop_signals();

}  // namespace serve
