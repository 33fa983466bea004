#include "console/help.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

namespace {

constexpr std::size_t page_width = 100, left_width = 26;  // columns

// Splits a text into lines of at most `width` columns. A longer word gets its own line.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

// Returns the names of the options, such as "--csv, --text". The names are sorted here, because CLI11 sorts the options
// by their addresses.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) names.insert(option->get_name());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string with_partners(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += " (required)";
  if (!option.get_needs().empty()) text += ". Only with " + names_of(option.get_needs());
  if (!option.get_excludes().empty()) text += ". Not with " + names_of(option.get_excludes());
  return text;
}

}  // namespace

std::string help_entry(const std::string& left, const std::string& right) {
  std::string text = "  " + left;
  if (text.size() + 2 > left_width) text += "\n" + std::string(left_width, ' ');
  else text.resize(left_width, ' ');
  const std::vector<std::string> lines = wrapped(right, page_width - left_width);
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\n" + std::string(left_width, ' ')) + lines[i];
  return text + "\n";
}

std::string help_paragraph(const std::string& text) {
  std::string page;
  for (const std::string& line : wrapped(text, page_width)) page += line + "\n";
  return page;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string left = option->get_name(is_positional, !is_positional);  // "-h,--help"
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',', comma + 1))
    left.insert(comma + 1, " ");
  if (option->get_type_size() != 0) left += " " + option->get_type_name();  // flags have no type
  return help_entry(left, with_partners(*option));
}

// One empty line separates the parts of a page. CLI11 puts an empty line before and after each group, so
// make_group() removes the line before it.
std::string HelpFormatter::make_usage(const CLI::App* command, std::string name) const {
  return CLI::Formatter::make_usage(command, name) + "\n";
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  return CLI::Formatter::make_group(group, is_positional, options).substr(1);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return help_entry(command->get_name(), command->get_description());
}
