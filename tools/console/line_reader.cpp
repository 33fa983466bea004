#include "console/line_reader.h"

#include <weft/error.h>

#include <iostream>

namespace {

constexpr std::size_t chunk = 1 << 16;   // bytes per read, which is the capacity of a pipe
constexpr std::size_t enough = 1 << 20;  // approximate number of bytes that one call of next() returns

// Removes a UTF-8 byte order mark. Throws an Error for UTF-16.
void take_mark_off(std::string& line, const std::string& name) {
  const std::string mark = line.substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF")
    throw weft::Error(name + ": expected UTF-8, got UTF-16 (iconv -f UTF-16 -t UTF-8 FILE > NEW converts the file)");
  if (line.substr(0, 3) == "\xEF\xBB\xBF") line.erase(0, 3);
}

}  // namespace

void LineReader::fill() {
  const std::size_t before = rest_.size();
  rest_.resize(before + chunk);
  const std::size_t got = file_.read(rest_.data() + before, chunk);
  rest_.resize(before + got);
  ended_ = got == 0;
}

std::vector<std::string> LineReader::next() {
  bool has_line = false;
  while (!ended_ && (!has_line || (rest_.size() < enough && file_.is_ready()))) {
    const std::size_t looked = rest_.size();
    fill();
    has_line = has_line || rest_.find('\n', looked) != std::string::npos;
  }
  std::vector<std::string> lines;
  const auto add = [&](std::size_t begin, std::size_t stop) {
    if (stop > begin && rest_[stop - 1] == '\r') --stop;
    lines.push_back(rest_.substr(begin, stop - begin));
  };
  std::size_t begin = 0;
  for (std::size_t stop; (stop = rest_.find('\n', begin)) != std::string::npos; begin = stop + 1) add(begin, stop);
  if (ended_ && begin < rest_.size()) {
    add(begin, rest_.size());
    begin = rest_.size();
  }
  rest_.erase(0, begin);
  return lines;
}

void for_each_lines(const std::string& path,
                    const std::function<void(const std::vector<std::string>&, const std::string&)>& use) {
  LineReader reader(path);
  if (reader.is_terminal())
    std::cerr << "enter one text per line; Ctrl-D (on Windows Ctrl-Z and Enter) ends the input" << std::endl;
  bool first = true;
  for (std::vector<std::string> lines; !(lines = reader.next()).empty(); first = false) {
    if (first) take_mark_off(lines[0], reader.name());
    use(lines, reader.name());
  }
}
