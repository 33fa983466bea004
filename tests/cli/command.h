// Runs the built weft command, whose path is in the environment variable WEFT.
#pragma once
#include <functional>
#include <string>

namespace weft::test {

struct Outcome {
  int code;  // exit code, or 128 + signal
  std::string out, err;
};

// `arguments` are words of a shell command.
Outcome weft(const std::string& arguments);

// Runs a shell line, in which "$WEFT" is the command. `action`, if given, is called repeatedly with the folder in which
// the line runs and the process's id, until it returns true.
Outcome shell(const std::string& line, const std::function<bool(const std::string& folder, int process)>& action = {});

// Starts it, waits until standard error has `text`, sends the signal, and waits for the end.
Outcome weft_with_signal(const std::string& arguments, const std::string& text, int signal);

// Starts it, sends the signal after this many milliseconds, and waits for the end.
Outcome weft_killed_after(const std::string& arguments, int milliseconds, int signal);

bool contains(const std::string& text, const std::string& part);
// Whether the exit code is `code`, standard output is empty, and standard error is one line that begins with "weft: "
// and contains `part`.
bool fails_with(const Outcome& outcome, int code, const std::string& part);
// The number after the last `label` in the text, NaN if there is none.
double number_after(const std::string& text, const std::string& label);

}  // namespace weft::test
