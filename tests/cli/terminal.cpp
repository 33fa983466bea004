// Tests of progress on terminals of any width.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "command.h"
#include "console/progress.h"
#include "console/terminal.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

// Returns the output of weft if standard error is a terminal of this width.
std::string on_terminal(int columns, const std::vector<std::string>& arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) throw std::runtime_error("no terminal");
  struct winsize size {};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  const std::string name = ::ptsname(terminal);
  const int other = ::open(name.c_str(), O_RDWR | O_NOCTTY);
  if (other < 0 || ::ioctl(other, TIOCSWINSZ, &size) != 0) throw std::runtime_error("no terminal " + name);
  const pid_t child = ::fork();
  if (child == 0) {
    const char* program = std::getenv("WEFT");
    std::vector<char*> words{const_cast<char*>(program)};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::dup2(other, STDERR_FILENO);
    ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
    ::execv(program, words.data());
    ::_exit(127);
  }
  ::close(other);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)  // read() fails when the other end is closed
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("weft failed: " + text);
  return text;
}

// Returns the bars, which are the texts between "\r\033[K" and the next control character.
std::vector<std::string> bars(const std::string& text) {
  const std::string clear = "\r\033[K";
  std::vector<std::string> all;
  for (std::size_t at = text.find(clear); at != std::string::npos; at = text.find(clear, at + 1)) {
    const std::size_t begin = at + clear.size();
    const std::string bar = text.substr(begin, text.find_first_of("\r\n\033", begin) - begin);
    if (contains(bar, "/")) all.push_back(bar);
  }
  return all;
}

}  // namespace

TEST_CASE("times in minutes and, from one hour, in hours") {
  CHECK(as_time(-1) == "0:00");
  CHECK(as_time(59.1) == "1:00");
  CHECK(as_time(3599) == "59:59");
  CHECK(as_time(3600) == "1:00:00");
  CHECK(as_time(3601) == "1:00:01");
  CHECK(as_time(36 * 3600 + 62) == "36:01:02");
}

TEST_CASE("standard error that is not a terminal has 80 columns, and a signal handler's line leaves errno unchanged") {
  const int before = ::dup(STDERR_FILENO), nothing = ::open("/dev/full", O_WRONLY);
  REQUIRE(::dup2(nothing, STDERR_FILENO) == STDERR_FILENO);
  const bool terminal = is_terminal();
  const int width = terminal_width();
  errno = EINTR;
  say_from_signal_handler("a line\n");  // the line can't be written
  const int error = errno;
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(nothing);
  CHECK_FALSE(terminal);
  CHECK(width == 80);
  CHECK(error == EINTR);
}

TEST_CASE("the bar fits its terminal") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (const int columns : {200, 80, 60, 40, 25, 10, 1}) {
    CAPTURE(columns);
    const auto drawn = bars(on_terminal(
        columns, {"train", "--arch", "tnn", "--layers", "1", "--d-model", "8", "--seq-len", "8", "--steps", "30",
                  "--overwrite", "--split", "90/10/0", "--text", folder / "text", "--out", folder / "run"}));
    if (columns > 10) REQUIRE(!drawn.empty());
    for (const std::string& bar : drawn) {
      CAPTURE(bar);
      CHECK(bar.size() < static_cast<std::size_t>(columns));
      CHECK(contains(bar, "loss") == (columns >= 25));
      CHECK(contains(bar, "ETA") == (columns >= 40));
      CHECK(contains(bar, "tokens/s") == (columns >= 60));
      // at 60 columns it depends on the digits of the speed
      if (columns != 60) CHECK(contains(bar, "[") == (columns > 60));
    }
  }
  // The terminal also counts the batches of a test.
  const auto counted =
      bars(on_terminal(15, {"train", "--arch", "tnn", "--layers", "1", "--d-model", "8", "--seq-len", "8", "--steps",
                            "1", "--overwrite", "--text", folder / "text", "--out", folder / "run"}));
  REQUIRE(!counted.empty());
  CHECK(counted.back() == "test: batch 1/");
}

}  // namespace weft::test
