#include "rows/row_reader.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/json.h"
#include "rows/json_row.h"
#include "text/utf8.h"

namespace weft::detail {
namespace {

bool is_line_end(char c) noexcept { return c == '\n' || c == '\r'; }

// Returns the number of line ends. A carriage return followed by a line feed is one line end.
std::int64_t line_ends(std::string_view text) noexcept {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    count += text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
  return count;
}

// Returns the offset of the first byte that is 0 or not UTF-8, or text.size(). Checks eight ASCII bytes at a time.
std::size_t first_bad_byte(std::string_view text) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101, highs = ones << 7;
  std::size_t i = 0;
  while (i < text.size()) {
    std::uint64_t eight;
    if (text.size() - i >= sizeof eight) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if (((eight | (eight - ones)) & highs) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const CodePoint next = first_code_point(text.substr(i));
    if (next.bytes == 0 || next.symbol == 0) return i;
    i += next.bytes;
  }
  return i;
}

// The text must begin with a quotation mark. Appends everything up to the next mark that isn't doubled to the field.
// Returns the offset after that mark, or npos if there is none.
std::size_t unquote(std::string_view text, std::string& field) {
  for (std::size_t from = 1;;) {
    const std::size_t end = text.find('"', from);
    if (end == std::string_view::npos) return end;
    field.append(text.substr(from, end - from));
    if (text.substr(end + 1, 1) != "\"") return end + 1;
    field += '"';
    from = end + 2;
  }
}

class DelimitedRows : public RowReader {
 public:
  DelimitedRows(Content content, const Dialect& dialect) : RowReader(std::move(content)), dialect_(dialect) {}

 private:
  void read(std::vector<std::string>& fields) override {
    std::size_t count = 0;
    for (;;) {
      if (count == fields.size()) fields.emplace_back();
      read_field(fields[count++]);
      if (!at(dialect_.delimiter)) break;
      move(1);
    }
    fields.resize(count);
  }

  void read_field(std::string& field) {
    field.clear();
    if (dialect_.quotes == Quotes::literal || !at('"')) return read_plain(field);
    const std::string_view from = dialect_.quotes == Quotes::cells ? rest().substr(0, plain_size()) : rest();
    const std::size_t size = unquote(from, field);
    if (size == from.size() || (size < from.size() && ends_field(from[size]))) return move(size);
    if (dialect_.quotes == Quotes::cells || dialect_.quotes == Quotes::fields) {
      field.clear();
    } else {
      if (size > from.size()) fail("a quotation mark is not closed", "--literal-quotes reads it as text");
      if (dialect_.quotes == Quotes::strict) fail("text after a closing quotation mark");
      move(size);
    }
    read_plain(field);
  }

  // Appends everything up to the next delimiter or line end.
  void read_plain(std::string& field) {
    const std::string_view text = rest().substr(0, plain_size());
    if (dialect_.quotes == Quotes::strict && text.find('"') != std::string_view::npos)
      fail("a quotation mark within a field");
    field.append(text);
    move(text.size());
  }

  bool ends_field(char c) const noexcept { return c == dialect_.delimiter || is_line_end(c); }
  std::size_t plain_size() const {
    const std::string_view from = rest();
    return static_cast<std::size_t>(std::find_if(from.begin(), from.end(), [this](char c) { return ends_field(c); }) -
                                    from.begin());
  }

  Dialect dialect_;
};

class FasttextRows : public RowReader {
 public:
  using RowReader::RowReader;

 private:
  void read(std::vector<std::string>& fields) override {
    const std::string_view prefix = fasttext_prefix;
    fields.assign(2, "");
    int labels = 0;
    std::string_view line = take_line();
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      line.remove_prefix(word.size());
      if (word.substr(0, prefix.size()) == prefix) {
        if (labels++ == 0) fields[0].assign(word.substr(prefix.size()));
      } else {
        if (!fields[1].empty()) fields[1] += ' ';
        fields[1].append(word);
      }
    }
    if (labels == 0) fail(std::string("expected a label, which is a word that begins with ") + fasttext_prefix);
    if (labels > 1) count_several();
  }
};

class JsonlRows : public RowReader {
 public:
  JsonlRows(Content content, const std::vector<std::string>& keys, std::optional<std::size_t> label,
            const std::vector<std::size_t>& text, const std::vector<std::size_t>& second)
      : RowReader(std::move(content)), keys_(keys), label_(label), text_(text), second_(second) {
    for (std::size_t i = 0; i < keys.size(); ++i) places_.emplace(keys[i], i);
  }

 private:
  void read(std::vector<std::string>& fields) override {
    const auto row = json_row(take_line(), [](const std::string&) {});
    if (!row.is_object()) fail("expected a JSON object");
    fields.assign(places_.size(), "");
    std::vector<bool> given(places_.size());
    for (const auto& [key, value] : row.items()) {
      const auto place = places_.find(key);
      if (place == places_.end() || value.is_null()) continue;
      const std::size_t i = place->second;
      given[i] = true;
      if (json_text(value, fields[i])) continue;
      if (i == label_ || is_one_of(text_, i) || is_one_of(second_, i))
        fail("expected a string, a number, true or false as \"" + key + "\"");
      fields[i] = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    if (label_) expect_one_of({*label_}, given);
    expect_one_of(text_, given);
    expect_one_of(second_, given);
  }

  static bool is_one_of(const std::vector<std::size_t>& keys, std::size_t i) {
    return std::find(keys.begin(), keys.end(), i) != keys.end();
  }

  // A row is bad if all of these keys are missing.
  void expect_one_of(const std::vector<std::size_t>& keys, const std::vector<bool>& given) {
    if (!keys.empty() && std::none_of(keys.begin(), keys.end(), [&](std::size_t i) { return given[i]; }))
      fail("expected a value of \"" + keys_[keys[0]] + "\"");
  }

  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> places_;
  std::optional<std::size_t> label_;
  std::vector<std::size_t> text_, second_;
};

}  // namespace

void RowReader::skip_between_rows() {
  while (at('\n') || at('\r')) move(1);
}

bool RowReader::next(std::vector<std::string>& fields) {
  skip_between_rows();
  if (rest().empty()) return false;
  ++row_;
  row_start_ = at_;
  try {
    read(fields);
  } catch (const BadRow&) {
    at_ = row_start_;
    skip_bad_row();
    check_bytes(content_.text.substr(row_start_, at_ - row_start_));
    throw;
  }
  check_bytes(content_.text.substr(row_start_, at_ - row_start_));
  return true;
}

std::string_view RowReader::take_line() {
  const std::string_view from = rest();
  const auto end = static_cast<std::size_t>(std::find_if(from.begin(), from.end(), is_line_end) - from.begin());
  move(end);
  return from.substr(0, end);
}

void RowReader::check_bytes(std::string_view row) {
  const WrongBytes wrong = wrong_bytes(row, content_.before + row_start_);
  if (!wrong.what.empty()) fail(wrong.what, wrong.hint);
}

void RowReader::fail(const std::string& what, const std::string& hint) {
  line_ += line_ends(content_.text.substr(counted_, row_start_ - counted_));
  counted_ = row_start_;
  std::string place = content_.where + ": row " + std::to_string(row_);
  if (row_ != line_) place += " (line " + std::to_string(line_) + ")";
  throw BadRow(place + ": " + what + " (" + (hint.empty() ? "" : hint + "; ") + "--skip-bad-rows skips such rows)");
}

WrongBytes wrong_bytes(std::string_view text, std::size_t before) {
  const std::size_t bad = first_bad_byte(text);
  if (bad == text.size()) return {};
  const std::string byte = "byte " + std::to_string(before + bad);
  if (text[bad] == 0)
    return {byte + " is 0, which does not occur in text", "is it UTF-16? " + convert_hint("UTF-16LE")};
  return {"invalid UTF-8 at " + byte, "is it in another encoding? " + convert_hint("ISO-8859-1")};
}

std::string convert_hint(const char* encoding) {
  return std::string("iconv -f ") + encoding + " -t UTF-8 FILE > NEW converts it";
}

std::unique_ptr<RowReader> delimited_rows(Content content, const Dialect& dialect) {
  return std::make_unique<DelimitedRows>(std::move(content), dialect);
}

std::unique_ptr<RowReader> fasttext_rows(Content content) { return std::make_unique<FasttextRows>(std::move(content)); }

std::unique_ptr<RowReader> jsonl_rows(Content content, const std::vector<std::string>& keys,
                                      std::optional<std::size_t> label, const std::vector<std::size_t>& text,
                                      const std::vector<std::size_t>& second) {
  return std::make_unique<JsonlRows>(std::move(content), keys, label, text, second);
}

}  // namespace weft::detail
