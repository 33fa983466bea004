#include "rows/row_columns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "rows/row_format.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

// Common names of label and text columns, in lower case and with only letters and digits. The most likely names come
// first.
const char* const label_names[] = {"label",    "labels",  "class",     "category", "target", "classindex",
                                   "classid",  "labelid", "topic",     "intent",   "tag",    "sentiment",
                                   "polarity", "stars",   "labelname", "labeltext"};
const char* const text_names[] = {"text",    "title",   "body",     "description", "sentence", "content", "message",
                                  "review",  "comment", "question", "headline",    "document", "tweet",   "abstract",
                                  "subject", "summary", "query",    "utterance",   "phrase",   "news",    "article"};

constexpr std::size_t none = static_cast<std::size_t>(-1);

std::string plain(const std::string& name) {
  std::string letters;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

// Returns the index of `name` in the known names, or `none`.
template <std::size_t N>
std::size_t known(const char* const (&known_names)[N], const std::string& name) {
  const auto found = std::find(std::begin(known_names), std::end(known_names), plain(name));
  return found == std::end(known_names) ? none : static_cast<std::size_t>(found - std::begin(known_names));
}

bool is_whole_number(const std::string& text) {
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  return text.size() > sign && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(sign), text.end(),
                                           [](char c) { return c >= '0' && c <= '9'; });
}

std::size_t words(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) count += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
  return count;
}

bool looks_like_a_name(const std::string& field) {
  constexpr std::size_t longest_name = 40, most_words = 3;
  return !trimmed(field).empty() && field.size() <= longest_name && words(field) <= most_words &&
         field.find_first_of("\r\n") == std::string::npos;
}

// Facts about a column's fields in some rows.
struct ColumnFacts {
  // `unfit` counts fields that can't be labels, and `wanted` counts fields that are known labels.
  std::size_t rows = 0, distinct = 0, unfit = 0, bytes = 0, words = 0, numbers = 0, wanted = 0;
};

ColumnFacts facts_of(const Rows& rows, std::size_t first, std::size_t column, const std::vector<std::string>& labels) {
  ColumnFacts facts;
  std::set<std::string> distinct;
  for (std::size_t i = first; i < rows.size(); ++i) {
    const std::string field = trimmed(rows[i][column]);
    ++facts.rows;
    facts.unfit += field.empty() || field.find_first_of("\r\n\t") != std::string::npos;
    facts.bytes += field.size();
    facts.words += words(field);
    facts.numbers += is_whole_number(field);
    facts.wanted += std::find(labels.begin(), labels.end(), field) != labels.end();
    distinct.insert(field);
  }
  facts.distinct = distinct.size();
  return facts;
}

// Whether the column's values repeat, as the values of a label do.
bool repeats(const ColumnFacts& facts) { return facts.distinct >= 2 && 2 * facts.distinct <= facts.rows; }

// Returns the column that looks most like a label. All fields of the column must be possible labels. The first choice
// is a column in which most fields are labels that the model knows. The second choice is the column with the fewest
// distinct values. If several columns have the fewest distinct values, it is the column with the shortest fields, and
// then the first column. A column with a single value can be the label if the rows are sorted by label. This is assumed
// only for many rows, and only if no other column's values repeat. Returns none if there are many rows and the column's
// values rarely repeat.
std::optional<std::size_t> label_by_content(const Rows& rows, std::size_t first,
                                            const std::vector<std::size_t>& columns,
                                            const std::vector<std::string>& labels) {
  constexpr std::size_t many_rows = 20;
  std::vector<std::pair<std::size_t, ColumnFacts>> candidates;
  for (std::size_t column : columns) {
    const ColumnFacts facts = facts_of(rows, first, column, labels);
    if (facts.unfit == 0) candidates.emplace_back(column, facts);
  }
  if (candidates.empty()) return {};
  const auto by_labels = [](const auto& a, const auto& b) { return a.second.wanted < b.second.wanted; };
  const auto known_best = std::max_element(candidates.begin(), candidates.end(), by_labels);
  if (2 * known_best->second.wanted > known_best->second.rows) return known_best->first;
  const bool any_repeats =
      std::any_of(candidates.begin(), candidates.end(), [](const auto& c) { return repeats(c.second); });
  const auto worse = [&](const auto& a, const auto& b) {
    const auto rank = [&](const ColumnFacts& f) {
      return std::make_tuple(f.distinct == 1 && (any_repeats || f.rows < many_rows), f.distinct, f.bytes);
    };
    return rank(a.second) < rank(b.second);
  };
  const auto& [column, facts] = *std::min_element(candidates.begin(), candidates.end(), worse);
  if (facts.rows >= many_rows && 2 * facts.distinct > facts.rows) return {};
  return column;
}

// Lists only the first names if there are many, to keep the message readable.
std::string quoted_list(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::vector<std::size_t> without(std::size_t count, const std::vector<std::size_t>& taken) {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < count; ++i)
    if (std::find(taken.begin(), taken.end(), i) == taken.end()) free.push_back(i);
  return free;
}

class Finder {
 public:
  Finder(const std::string& where, const std::vector<std::string>& names, std::size_t count, const Rows& rows,
         const LabeledOptions& options)
      : where_(where), names_(names), count_(count), rows_(rows), options_(options) {}

  RowColumns find() const {
    if (count_ < 2)
      throw Error(where_ + ": expected a text column and a label column, got one column (--format sets the separator)");
    RowColumns columns{none, {}, {}};
    for (const std::string& wanted : options_.text) columns.text.push_back(column(wanted));
    for (const std::string& wanted : options_.second) columns.second.push_back(column(wanted));
    const std::vector<std::size_t> named = joined(columns.text, columns.second);
    columns.label = options_.label.empty() ? label(without(count_, named)) : column(options_.label);
    if (columns.text.empty()) columns.text = text(without(count_, joined(columns.second, {columns.label})));
    if (has(joined(columns.text, columns.second), columns.label))
      throw Error(where_ + ": --columns: one column can't be both text and label");
    check_two_texts(columns);
    return columns;
  }

  RowColumns find_text() const {
    if (count_ == 1 && options_.second.empty()) return {none, {0}, {}};
    RowColumns columns{none, named(options_.text, "text"), named(options_.second, "second")};
    std::vector<std::size_t>& texts = columns.text;
    for (std::size_t i = 0; i < names_.size() && options_.text.empty(); ++i)
      if (names_[i] != options_.label && known(text_names, names_[i]) != none && !has(columns.second, i))
        texts.push_back(only_one(i));
    if (const auto label = label_column(rows_, options_.labels); texts.empty() && names_.empty() && label)
      texts = without(count_, joined(columns.second, {*label}));
    if (texts.empty()) cant_tell("text");
    check_two_texts(columns);
    return columns;
  }

 private:
  static bool has(const std::vector<std::size_t>& columns, std::size_t column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }

  static std::vector<std::size_t> joined(std::vector<std::size_t> columns, const std::vector<std::size_t>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  }

  void check_two_texts(const RowColumns& columns) const {
    for (const std::size_t column : columns.second)
      if (has(columns.text, column)) throw Error(where_ + ": --columns: one column can't be both text and second");
  }

  // Returns the columns that the key `key` of --columns names, for texts to classify.
  std::vector<std::size_t> named(const std::vector<std::string>& names, const std::string& key) const {
    std::vector<std::size_t> columns;
    for (const std::string& wanted : names) {
      const auto found = place(wanted);
      if (!found)
        throw Error(where_ + ": expected the " + (key == "second" ? "second " : "") + "text in column \"" + wanted +
                    "\"; the file has " + columns_there() + " (--columns " + key +
                    "=NAME chooses it, by name or by number from 1)");
      columns.push_back(*found);
    }
    return columns;
  }

  std::string columns_there() const {
    return names_.empty() ? std::to_string(count_) + " columns without names" : "the columns " + quoted_list(names_);
  }

  [[noreturn]] void cant_tell(const char* what) const {
    throw Error(where_ + ": can't tell which column is the " + what + "; the file has " + columns_there() +
                " (--columns text=NAME,label=NAME chooses them, by name or by number from 1)");
  }

  std::optional<std::size_t> place(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found != names_.end()) return only_one(static_cast<std::size_t>(found - names_.begin()));
    if (is_whole_number(wanted) && wanted.size() < 9 && std::stol(wanted) >= 1 &&
        static_cast<std::size_t>(std::stol(wanted)) <= count_)
      return static_cast<std::size_t>(std::stol(wanted)) - 1;
    return {};
  }

  std::size_t column(const std::string& wanted) const {
    if (const auto found = place(wanted)) return *found;
    throw Error(where_ + ": --columns: expected a column's name, or its number from 1, got \"" + wanted +
                "\"; the file has " + columns_there());
  }

  // Returns `column`, which the user selected by its name. Throws an Error if another column has the same name.
  std::size_t only_one(std::size_t column) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (i != column && names_[i] == names_[column])
        throw Error(where_ + ": two columns have the name \"" + names_[column] + "\", columns " +
                    std::to_string(std::min(i, column) + 1) + " and " + std::to_string(std::max(i, column) + 1) +
                    " (choose by number, for example --columns text=2,label=1)");
    return column;
  }

  std::size_t label(const std::vector<std::size_t>& free) const {
    std::size_t best = none, column = none;
    for (std::size_t i : free)
      if (!names_.empty() && known(label_names, names_[i]) < best) best = known(label_names, names_[column = i]);
    if (best != none) return only_one(column);
    if (free.size() == 1) return free[0];
    if (!names_.empty() && count_ > 2) cant_tell("label");
    const auto found = label_by_content(rows_, 0, free, options_.labels);
    if (!found) cant_tell("label");
    return *found;
  }

  std::vector<std::size_t> text(const std::vector<std::size_t>& free) const {
    if (free.empty()) cant_tell("text");
    if (names_.empty() || free.size() == 1) return free;
    std::vector<std::size_t> named;
    for (std::size_t i : free)
      if (known(text_names, names_[i]) != none) named.push_back(only_one(i));
    if (named.empty()) cant_tell("text");
    return named;
  }

  const std::string& where_;
  const std::vector<std::string>& names_;
  std::size_t count_;
  const Rows& rows_;
  const LabeledOptions& options_;
};

}  // namespace

std::optional<std::size_t> label_column(const Rows& rows, const std::vector<std::string>& labels) {
  for (std::size_t i = 0; !rows.empty() && i < rows[0].size(); ++i)
    if (facts_of(rows, 0, i, labels).wanted == rows.size()) return i;
  return {};
}

bool are_names(const std::vector<std::string>& fields, const LabeledOptions& options) {
  std::vector<std::string> names;
  for (const std::string& field : fields) names.push_back(trimmed(field));
  const auto any_of = [&](const auto& known_names) {
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return known(known_names, name) != none; });
  };
  const auto is_number = [](const std::string& column) { return is_whole_number(column); };
  std::vector<std::string> texts = options.text;
  texts.insert(texts.end(), options.second.begin(), options.second.end());
  if (std::all_of(texts.begin(), texts.end(), is_number)) return any_of(text_names) && any_of(label_names);
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& wanted) {
    return is_number(wanted) || std::find(names.begin(), names.end(), wanted) != names.end();
  });
}

// The first row is a header if the options name columns. Otherwise all its fields must look like names. In addition,
// they must include common names of text or label columns, or differ from the fields of the other rows. The fields
// differ in two cases. The first is that the label column contains numbers, except in the first row. The second is that
// the first row's label doesn't occur again, and the texts of the other rows are long.
bool has_header(const Rows& rows, const LabeledOptions& options) {
  const auto is_name = [](const std::string& column) { return !is_whole_number(column); };
  if (std::any_of(options.text.begin(), options.text.end(), is_name) ||
      std::any_of(options.second.begin(), options.second.end(), is_name) ||
      (!options.label.empty() && is_name(options.label)))
    return true;
  const std::vector<std::string>& first = rows[0];
  if (!std::all_of(first.begin(), first.end(), looks_like_a_name)) return false;
  const auto comes_again = [&](std::size_t column) {
    return std::any_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[column] == first[column]; });
  };
  bool label = false, text = false, again = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool is_label = known(label_names, first[i]) != none, is_text = known(text_names, first[i]) != none;
    label = label || is_label;
    text = text || is_text;
    again = again || ((is_label || is_text) && comes_again(i));
  }
  if ((label && text) || ((label || text) && !again)) return true;
  if (rows.size() < 2) return false;
  const auto column = label_by_content(rows, 1, without(first.size(), {}), options.labels);
  if (!column) return false;
  const ColumnFacts labels = facts_of(rows, 1, *column, {});
  if (labels.numbers == labels.rows) return !is_whole_number(trimmed(first[*column]));
  std::size_t text_words = 0;
  for (std::size_t i : without(first.size(), {*column})) text_words += facts_of(rows, 1, i, {}).words;
  constexpr std::size_t words_of_a_text = 4;
  const bool all_differ = std::set<std::string>(first.begin(), first.end()).size() == first.size();
  return all_differ && repeats(labels) && !comes_again(*column) && text_words >= words_of_a_text * labels.rows;
}

RowColumns find_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                        const Rows& rows, const LabeledOptions& options) {
  return Finder(where, names, count, rows, options).find();
}

RowColumns find_text_columns(const std::string& where, const std::vector<std::string>& names, std::size_t count,
                             const Rows& rows, const LabeledOptions& options) {
  return Finder(where, names, count, rows, options).find_text();
}

}  // namespace weft::detail
