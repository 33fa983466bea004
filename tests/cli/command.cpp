#include "command.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "temporary_folder.h"

namespace weft::test {
namespace {

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

pid_t start_shell(const std::string& command, const TemporaryFolder& folder) {
  if (std::getenv("WEFT") == nullptr) throw std::runtime_error("WEFT is not set");
  const std::string line = "exec </dev/null >'" + (folder / "out") + "' 2>'" + (folder / "err") + "' " + command;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (child < 0) throw std::runtime_error("fork failed");
  return child;
}

// The shell replaces itself with weft by exec, so that signals reach weft.
pid_t start(const std::string& arguments, const TemporaryFolder& folder) {
  return start_shell("\"$WEFT\" " + arguments, folder);
}

bool ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}

Outcome finish(pid_t child, const TemporaryFolder& folder) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return {code_of(status), folder.read("out"), folder.read("err")};
}

}  // namespace

Outcome weft(const std::string& arguments) {
  const TemporaryFolder folder;
  return finish(start(arguments, folder), folder);
}

Outcome shell(const std::string& line, const std::function<bool(const std::string& folder, int process)>& action) {
  const TemporaryFolder folder;
  const pid_t child = start_shell(line, folder);
  while (action && !action(folder / "", child) && !ended(child))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return finish(child, folder);
}

Outcome weft_with_signal(const std::string& arguments, const std::string& text, int signal) {
  const TemporaryFolder folder;
  const pid_t child = start(arguments, folder);
  while (!contains(folder.read("err"), text) && !ended(child))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, signal);
  return finish(child, folder);
}

Outcome weft_killed_after(const std::string& arguments, int milliseconds, int signal) {
  const TemporaryFolder folder;
  const pid_t child = start(arguments, folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  ::kill(child, signal);
  return finish(child, folder);
}

bool can_kill_at() { return std::getenv("WEFT_KILL_LIBRARY") != nullptr; }

bool killed_at(long n, const std::string& arguments) {
  ::setenv("LD_PRELOAD", std::getenv("WEFT_KILL_LIBRARY"), 1);
  ::setenv("WEFT_KILL_AT", std::to_string(n).c_str(), 1);
  const Outcome outcome = weft(arguments);
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("WEFT_KILL_AT");
  CAPTURE(outcome.err);
  CHECK((outcome.code == 0 || outcome.code == 128 + SIGKILL));
  return outcome.code != 0;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool fails_with(const Outcome& outcome, int code, const std::string& part) {
  const std::string& err = outcome.err;
  const bool one_line = err.rfind("weft: ", 0) == 0 && err.find('\n') == err.size() - 1;
  return outcome.code == code && outcome.out.empty() && one_line && contains(err, part);
}

double number_after(const std::string& text, const std::string& label) {
  const std::size_t at = text.rfind(label);
  return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + label.size(), nullptr);
}

}  // namespace weft::test
