#include "train/stop_signal.h"

#include <csignal>

#include "console/ranks.h"
#include "console/terminal.h"

namespace {

// The first signal asks the run to stop. A second one ends the program immediately.
volatile std::sig_atomic_t asked_by = 0;
const char* clear_line = "";  // removes the progress bar from a terminal
const char* stopping[] = {"weft: stopping after this step, then saving; press Ctrl-C again to end immediately\n",
                          "weft: stopping after this step, then saving; send the signal again to end immediately\n"};

extern "C" void ask_to_stop(int signal) {
  asked_by = signal;
  std::signal(signal, SIG_DFL);
  say_from_signal_handler(clear_line);
  say_from_signal_handler(stopping[signal == SIGINT ? 0 : 1]);
}

}  // namespace

// A run must not be lost if its output can no longer be written, because a terminal or pipe was closed.
void stop_on_signals(const weft::Ranks* ranks) {
  if (is_terminal()) clear_line = "\r\033[K";
  if (ranks != nullptr) {
    // mpirun ends all ranks on Ctrl-C and when a rank has died. It forwards SIGUSR1 to all ranks.
    for (const char*& line : stopping)
      line = is_first(ranks)
                 ? "weft: stopping after this step, because of a signal or a dead rank; the run is saved if all ranks "
                   "respond, otherwise --resume continues from the last save\n"
                 : "";
    if (!is_first(ranks)) clear_line = "";
#ifdef SIGUSR1  // Windows has none
    std::signal(SIGUSR1, ask_to_stop);
#endif
  }
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  on_closed_terminal(ask_to_stop);
}

int stop_signal() { return asked_by; }
