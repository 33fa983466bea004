// Lines as they come: what is there is read at once, and nothing is waited for while lines are there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

class LineReader {
 public:
  // A file, or "-" for standard input. Error if it can't be opened.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Lines without their ends, at least one; waits for it only if none is there. None at the end. Error if reading fails.
  std::vector<std::string> next();

  const std::string& name() const noexcept { return name_; }  // for messages
  bool is_terminal() const noexcept;

 private:
  bool has_more() const;  // without waiting
  void fill();

  std::string name_;
  int descriptor_ = 0;
  std::string rest_;  // of a line whose end hasn't come
  bool ended_ = false;
};
