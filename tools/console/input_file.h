// A file, pipe or terminal that is read once, from its beginning to its end. system/ has a folder for each system that
// implements it.
#pragma once
#include <cstddef>
#include <string>

class InputFile {
 public:
  // Opens a file, or standard input for "-". Throws an Error if the file can't be opened.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads at most `bytes` bytes and returns their number, which is 0 at the end. Waits only if no byte is available.
  // Throws an Error if reading fails.
  std::size_t read(char* data, std::size_t bytes);
  bool is_ready() const noexcept;  // whether read() would return without waiting
  bool is_terminal() const noexcept;
  const std::string& name() const noexcept { return name_; }  // for messages

 private:
  std::string name_;
  int descriptor_ = 0;
};
