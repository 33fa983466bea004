// Comma-separated values, RFC 4180.
#include <algorithm>
#include <charconv>

#include "text/utf8.h"
#include "weft/data.h"
#include "weft/os.h"

namespace weft {
using namespace detail;

namespace {

class CsvReader {
 public:
  CsvReader(std::string_view content, std::string where) : rest_(content), where_(std::move(where)) {}

  // The row, counted from 1 without empty lines, and the line where it begins if that is another number.
  std::string place() const {
    const std::string row = where_ + ": row " + std::to_string(row_);
    return row_ == line_ ? row : row + " (line " + std::to_string(line_) + ")";
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(place() + ": " + what); }

  // The fields of the next row; false at the end.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    while (at('\n') || at('\r')) (void)take(1);
    if (rest_.empty()) return false;
    ++row_;
    line_ = next_line_;
    fields.push_back(field());
    while (at(',')) {
      rest_.remove_prefix(1);
      fields.push_back(field());
    }
    return true;
  }

 private:
  bool at(char c) const noexcept { return !rest_.empty() && rest_.front() == c; }

  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    next_line_ += std::count(taken.begin(), taken.end(), '\n');
    return taken;
  }

  std::string field() {
    if (!at('"')) return std::string(take(std::min(rest_.find_first_of(",\r\n"), rest_.size())));
    std::string text;
    for (;;) {
      rest_.remove_prefix(1);  // the mark that opens the field, or the second of a pair
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos) fail("a quotation mark is not closed");
      text += take(end);
      rest_.remove_prefix(1);
      if (!at('"')) break;
      text += '"';
    }
    if (!rest_.empty() && !at(',') && !at('\n') && !at('\r')) fail("text after a closing quotation mark");
    return text;
  }

  std::string_view rest_;
  std::string where_;
  std::int64_t row_ = 0, line_ = 0, next_line_ = 1;
};

std::int64_t class_of(const CsvReader& reader, const std::string& field, std::int64_t classes) {
  std::int64_t value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stop != end || value < 1 || (classes > 0 && value > classes))
    reader.fail("the class is \"" + field.substr(0, 40) + "\", expected " +
                (classes > 0 ? "1 to " + std::to_string(classes) : "a whole number from 1"));
  return value;
}

// Without a given number of classes a stray high one would go unnoticed: all below the highest must occur.
// `place` is the highest's.
std::int64_t highest_class(std::vector<std::int64_t> sorted, const std::string& place) {
  std::sort(sorted.begin(), sorted.end());
  std::int64_t next = 0;
  for (std::int64_t label : sorted) {
    if (label > next)
      throw Error(place + ": the class is " + std::to_string(sorted.back() + 1) + ", but no row has class " +
                  std::to_string(next + 1));
    if (label == next) ++next;
  }
  return next;
}

}  // namespace

LabelledTexts parse_csv(const std::string& content, const std::string& where, std::int64_t classes) {
  for_each_code_point(content, where, [](char32_t, std::size_t) {});
  const std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string_view rest = content;
  if (rest.substr(0, 3) == byte_order_mark) rest.remove_prefix(3);
  CsvReader reader(rest, where);
  LabelledTexts all;
  std::vector<std::string> fields;
  std::int64_t highest = -1;
  std::string place;  // of the first row with the highest class
  while (reader.next(fields)) {
    if (fields.size() != 3)
      reader.fail("expected 3 columns (class, title, description), got " + std::to_string(fields.size()));
    all.labels.push_back(class_of(reader, fields[0], classes) - 1);
    if (all.labels.back() > highest) {
      highest = all.labels.back();
      place = reader.place();
    }
    all.texts.push_back(fields[1].empty() ? fields[2] : fields[1] + " " + fields[2]);
  }
  if (all.labels.empty()) throw Error(where + " has no rows");
  all.classes = classes > 0 ? classes : highest_class(all.labels, place);
  return all;
}

LabelledTexts read_csv(const std::string& path, std::int64_t classes) {
  const std::string content = os::read_file(path);
  if (content.empty()) throw Error("\"" + path + "\" is empty");
  return parse_csv(content, "\"" + path + "\"", classes);
}

}  // namespace weft
