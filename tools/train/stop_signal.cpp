#include "train/stop_signal.h"

#include <csignal>

#include "console/ranks.h"
#include "console/terminal.h"

namespace {

// The first signal asks the run to stop; a second one ends the program at once.
volatile std::sig_atomic_t asked_by = 0;
const char* clear_line = "";  // removes the progress bar from a terminal
const char* stopping[] = {"weft: stopping after this step, then saving; Ctrl-C again ends at once\n",
                          "weft: stopping after this step, then saving; the same signal again ends at once\n"};

extern "C" void ask_to_stop(int signal) {
  asked_by = signal;
  std::signal(signal, SIG_DFL);
  say_from_signal_handler(clear_line);
  say_from_signal_handler(stopping[signal == SIGINT ? 0 : 1]);
}

}  // namespace

// A run must not be lost because nobody reads its output any more (a closed terminal or pipe).
void stop_on_signals(const weft::Ranks* ranks) {
  if (is_terminal()) clear_line = "\r\033[K";
  if (ranks != nullptr) {  // mpirun ends all ranks on Ctrl-C and when one has died; it passes this signal on
    for (const char*& line : stopping)
      line = is_first(ranks)
                 ? "weft: stopping after this step, because of a signal or a dead rank; then saving if all ranks "
                   "respond, otherwise --resume goes on from the last save\n"
                 : "";
    if (!is_first(ranks)) clear_line = "";
    std::signal(SIGUSR1, ask_to_stop);
  }
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  if (std::signal(SIGHUP, ask_to_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // started by nohup
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signal() { return asked_by; }
