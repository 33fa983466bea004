#include "train/stop_signal.h"

#include <csignal>

#include "console/ranks.h"
#include "console/terminal.h"

namespace {

// A second one ends the program at once.
volatile std::sig_atomic_t asked_by = 0;
const char* clear_line = "";  // takes the bar off a terminal
const char* stopping[] = {"weft: stopping after this step, saving; Ctrl-C again ends at once\n",
                          "weft: stopping after this step, saving; the same signal again ends at once\n"};

extern "C" void ask_to_stop(int signal) {
  asked_by = signal;
  std::signal(signal, SIG_DFL);
  say_from_signal_handler(clear_line);
  say_from_signal_handler(stopping[signal == SIGINT ? 0 : 1]);
}

}  // namespace

// Nobody reading what is printed (a closed terminal or pipe) is no reason to lose a run.
void stop_on_signals(const weft::Ranks* ranks) {
  if (is_terminal()) clear_line = "\r\033[K";
  if (ranks != nullptr) {  // mpirun ends all for Ctrl-C and where one has died, and passes this signal on
    for (const char*& line : stopping)
      line = is_first(ranks)
                 ? "weft: told to end, by a signal or as a rank has died: stopping after this step, saving if all "
                   "answer; else --resume goes on from the last save\n"
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
