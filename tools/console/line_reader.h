// Reads lines as they arrive. Returns all available lines immediately, and waits only if no line is available.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "console/input_file.h"

class LineReader {
 public:
  // Opens a file, or standard input for "-". Throws an Error if the file can't be opened.
  explicit LineReader(const std::string& path) : file_(path) {}

  // Returns at least one line, without line ends. Waits only if no line is available. Returns an empty list at the end
  // of the input. Throws an Error if reading fails.
  std::vector<std::string> next();

  const std::string& name() const noexcept { return file_.name(); }  // for messages
  bool is_terminal() const noexcept { return file_.is_terminal(); }

 private:
  void fill();

  InputFile file_;
  std::string rest_;  // the beginning of a line whose end has not arrived yet
  bool ended_ = false;
};

// Calls use(lines, name) with the lines of a file or of standard input ("-"), several lines at a time. Removes a byte
// order mark. Throws an Error that names the file if it can't be read or is UTF-16.
void for_each_lines(const std::string& path,
                    const std::function<void(const std::vector<std::string>&, const std::string&)>& use);
