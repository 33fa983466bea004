// Reads lines as they come: returns available lines at once, and waits only if there are none.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

class LineReader {
 public:
  // A file, or "-" for standard input. Error if it can't be opened.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Lines without their ends, at least one; waits only if none is available. Empty at the end. Error if reading fails.
  std::vector<std::string> next();

  const std::string& name() const noexcept { return name_; }  // for messages
  bool is_terminal() const noexcept;

 private:
  bool has_more() const;  // without waiting
  void fill();

  std::string name_;
  int descriptor_ = 0;
  std::string rest_;  // the beginning of a line whose end hasn't come yet
  bool ended_ = false;
};

// Calls use(lines, name) with the lines of a file or of standard input ("-"), several at a time, without a byte order
// mark. Error, naming the file, if it can't be read or is UTF-16.
void for_each_lines(const std::string& path,
                    const std::function<void(const std::vector<std::string>&, const std::string&)>& use);
