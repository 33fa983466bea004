#include "console/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>

#include "weft/error.h"

bool is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() noexcept {
  struct winsize size;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void say_from_signal_handler(const char* line) noexcept {
  const int error = errno;
  (void)!::write(STDERR_FILENO, line, std::strlen(line));
  errno = error;
}

void on_closed_terminal(void (*ask_to_stop)(int signal)) {
  if (std::signal(SIGHUP, ask_to_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // keeps ignoring it after nohup
  std::signal(SIGPIPE, SIG_IGN);
}

void prepare_standard_streams() {
  const char* const nothing = "/dev/null";
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      const int opened = ::open(nothing, stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      if (opened != stream)  // open() returns the lowest free number
        throw weft::Error(std::string("[file] can't open \"") + nothing +
                          "\": " + std::generic_category().message(errno));
    }
}
