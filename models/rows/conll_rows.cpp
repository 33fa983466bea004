// Sentences in the CoNLL format. Each line has a word and, in further columns, its tags. An empty line follows each
// sentence (Tjong Kim Sang and De Meulder 2003, section 2.1; universaldependencies.org/format.html).
#include <algorithm>

#include "rows/row_reader.h"

namespace weft::detail {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Whether the id looks like "1-2" or "1.1". In CoNLL-U, "1-2" is a word that stands for the lines 1 and 2, and "1.1" is
// a word that is not in the text.
bool is_extra_word(std::string_view id) {
  const std::size_t middle = id.find_first_not_of("0123456789");
  return middle != 0 && middle != std::string_view::npos && (id[middle] == '-' || id[middle] == '.') &&
         middle + 1 < id.size() && id.find_first_not_of("0123456789", middle + 1) == std::string_view::npos;
}

class ConllRows : public RowReader {
 public:
  ConllRows(const Content& content, const ConllColumns& columns, bool labeled)
      : RowReader(content),
        columns_(columns),
        labeled_(labeled),
        has_tabs_(content.text.find('\t') != std::string_view::npos) {}

 private:
  // Skips lines without a word, so that messages name the line of the sentence's first word.
  void skip_between_rows() override {
    while (!rest().empty()) {
      const std::string_view from = rest(), line = from.substr(0, from.find_first_of("\r\n"));
      if (!is_blank_line(line) && !is_no_word(line)) return;
      move(line.size());
      skip_line_end();
    }
  }

  // Reads two fields: the tags and the words of a sentence, both separated by blanks.
  void read(std::vector<std::string>& fields) override {
    fields.assign(2, "");
    while (!rest().empty()) {
      const std::string_view line = take_line();
      skip_line_end();
      if (is_blank_line(line)) return;
      if (!is_no_word(line)) add_word(line, fields);
    }
  }

  void skip_line_end() {
    if (at('\r')) move(1);
    if (at('\n')) move(1);
  }

  static bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

  // Whether the line is the beginning of a document, a comment or an extra word.
  bool is_no_word(std::string_view line) const {
    return line.substr(0, 10) == "-DOCSTART-" ||
           (has_tabs_ && line[0] == '#' && line.find('\t') == std::string_view::npos) ||
           (columns_.word > 0 && is_extra_word(line.substr(0, line.find(separator()))));
  }

  char separator() const { return has_tabs_ ? '\t' : ' '; }

  // Columns are separated by tabs if the file has tabs, otherwise by blanks.
  std::vector<std::string_view> cells_of(std::string_view line) const {
    std::vector<std::string_view> cells;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(separator()), line.size());
      if (has_tabs_ || end > 0) cells.push_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return cells;
  }

  void add_word(std::string_view line, std::vector<std::string>& fields) {
    const std::vector<std::string_view> cells = cells_of(line);
    const std::size_t tag = columns_.tag.value_or(cells.size() - 1);
    const std::size_t needed = std::max(columns_.word, labeled_ ? std::max(tag, std::size_t{1}) : 0) + 1;
    if (cells.size() < needed)
      fail("expected at least " + std::to_string(needed) + " columns, got the line \"" +
           std::string(line.substr(0, 60)) + "\"");
    append(cells[columns_.word], line, fields[1]);
    if (labeled_) append(cells[tag], line, fields[0]);
  }

  void append(std::string_view cell, std::string_view line, std::string& field) {
    if (cell.empty() || std::any_of(cell.begin(), cell.end(), is_blank))
      fail("expected a word and a tag without blanks, got the line \"" + std::string(line.substr(0, 60)) + "\"");
    if (!field.empty()) field += ' ';
    field.append(cell);
  }

  void skip_bad_row() override {
    while (!rest().empty()) {
      const bool is_end = is_blank_line(take_line());
      skip_line_end();
      if (is_end) break;
    }
  }

  ConllColumns columns_;
  bool labeled_, has_tabs_;
};

}  // namespace

std::unique_ptr<RowReader> conll_rows(const Content& content, const ConllColumns& columns, bool labeled) {
  return std::make_unique<ConllRows>(content, columns, labeled);
}

}  // namespace weft::detail
