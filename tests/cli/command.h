// Runs the built weft command. The environment variable WEFT has its path.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "contains.h"

namespace weft::test {

struct Outcome {
  int code;  // exit code, or 128 + signal
  std::string out, err;
};

// Runs weft. `arguments` are words of a shell command.
Outcome weft(const std::string& arguments);

// Runs a shell line, in which "$WEFT" stands for the command. If `action` is given, it is called repeatedly until it
// returns true. Its arguments are the folder in which the line runs and the number of the process.
Outcome shell(const std::string& line, const std::function<bool(const std::string& folder, int process)>& action = {});

// Starts weft, waits until standard error contains `text`, sends the signal, and waits for the end.
Outcome weft_with_signal(const std::string& arguments, const std::string& text, int signal);

// Starts weft, sends the signal after this many milliseconds, and waits for the end.
Outcome weft_killed_after(const std::string& arguments, int milliseconds, int signal);

// Whether killed_at() works: the variable WEFT_KILL_LIBRARY is set. With sanitizers it is not. It names the library
// that kills the command, or is empty if the command kills itself (any_cpu/windows.sh).
bool can_kill_at();

// Runs weft, and kills it instead of its n-th change to a file. Returns false if it makes fewer changes.
bool killed_at(long n, const std::string& arguments);

// Returns whether the exit code is `code`, standard output is empty, and standard error is one line that starts with
// "weft: " and contains `part`.
bool fails_with(const Outcome& outcome, int code, const std::string& part);
std::vector<std::string> lines_of(const std::string& text);
// Returns the number after the last `label` in the text, or NaN if there is none.
double number_after(const std::string& text, const std::string& label);

}  // namespace weft::test
