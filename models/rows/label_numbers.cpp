#include "rows/label_numbers.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "rows/row_reader.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

// "a", "b" and 3 more
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", \"" : "\"") + names[i] + "\"";
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

bool is_number(const std::string& name) {
  const std::size_t sign = name[0] == '-';
  return name.size() > sign && name.size() < 18 && name.find_first_not_of("0123456789", sign) == std::string::npos;
}

}  // namespace

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }

LabelNumbers::LabelNumbers(const std::vector<std::string>& known) : are_known_(!known.empty()), names_(known) {
  for (const std::string& name : known) numbers_.emplace(name, static_cast<std::int64_t>(numbers_.size()));
}

std::string LabelNumbers::refusal(const std::string& name) const {
  if (name.empty()) return "the label is empty";
  if (const WrongBytes wrong = wrong_bytes(name, 0); !wrong.what.empty())  // the name of a folder may have any bytes
    return "the label is not UTF-8 (" + wrong.what + ")";
  if (std::any_of(name.begin(), name.end(), is_control)) return "the label has a line end or another control character";
  if (!are_known_ || numbers_.count(name) > 0) return "";
  return "the label is \"" + name.substr(0, 60) + "\", expected one of " + some_names(names_);
}

std::int64_t LabelNumbers::of(const std::string& name) {
  const auto [found, is_new] = numbers_.emplace(name, static_cast<std::int64_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

std::vector<std::string> LabelNumbers::sort(std::vector<std::int64_t>& labels) const {
  if (are_known_) return names_;
  const bool numbers = std::all_of(names_.begin(), names_.end(), is_number);
  std::vector<std::size_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const long x = numbers ? std::atol(names_[a].c_str()) : 0, y = numbers ? std::atol(names_[b].c_str()) : 0;
    return x != y ? x < y : names_[a] < names_[b];
  });
  std::vector<std::string> sorted;
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i : order) {
    place[i] = static_cast<std::int64_t>(sorted.size());
    sorted.push_back(names_[i]);
  }
  for (std::int64_t& label : labels) label = place[static_cast<std::size_t>(label)];
  return sorted;
}

void check_skipping(const LabeledOptions& options, const std::string& where) {
  if (options.skip_bad_rows)
    throw Error(where + ": a NumPy or IDX file is read as a whole, so --skip-bad-rows can't skip any of its rows");
}

void check_number_options(const LabeledOptions& options, const std::string& where) {
  if (options.header || !options.text.empty() || !options.second.empty() || !options.label.empty() ||
      options.literal_quotes)
    throw Error(where + ": pictures and arrays have no header, columns or quotation marks (--header, --columns and " +
                "--literal-quotes apply to files of texts)");
  check_skipping(options, where);
}

}  // namespace weft::detail
