#include "serve/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace serve {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

extern "C" void do_nothing(int) {}

}  // namespace

void block_signals() {
  std::signal(SIGHUP, do_nothing);  // nohup ignores the signal, and an ignored signal can't be waited for
  const sigset_t set = set_of({SIGINT, SIGTERM, SIGHUP});
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Wish wait_for_signal() {
  const sigset_t set = set_of({SIGINT, SIGTERM, SIGHUP});
  for (int signal = 0;;)
    if (sigwait(&set, &signal) == 0) return signal == SIGHUP ? Wish::reload : Wish::stop;
}

void ask_to_stop() { ::kill(::getpid(), SIGTERM); }

void unblock_stop_signals() {
  const sigset_t set = set_of({SIGINT, SIGTERM});
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace serve
