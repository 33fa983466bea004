// Runs the built weft command, whose path is in the environment variable WEFT.
#pragma once
#include <functional>
#include <string>

namespace weft::test {

struct Outcome {
  int code;  // exit code, or 128 + signal
  std::string out, err;
};

// `arguments` are words for a shell.
Outcome weft(const std::string& arguments);

// A line for a shell, in which "$WEFT" is the command. `action`, if there is one, is called with the folder in which the
// line runs and the process's id, until it says true.
Outcome shell(const std::string& line, const std::function<bool(const std::string& folder, int process)>& action = {});

// Starts it, waits until standard error has `text`, sends the signal, and waits for the end.
Outcome weft_with_signal(const std::string& arguments, const std::string& text, int signal);

// Starts it, sends the signal after so many milliseconds, and waits for the end.
Outcome weft_killed_after(const std::string& arguments, int milliseconds, int signal);

bool contains(const std::string& text, const std::string& part);
// Exit code `code`, nothing on standard output and nothing but one line on standard error, which begins with "weft: "
// and has `part`.
bool fails_with(const Outcome& outcome, int code, const std::string& part);
// The number after the last `label` in the text, NaN if there is none.
double number_after(const std::string& text, const std::string& label);

}  // namespace weft::test
