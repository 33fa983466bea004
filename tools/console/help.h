// The pages that --help prints.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// Returns an entry with two columns. `right` is wrapped within the right column. If `left` is too long for the left
// column, it gets its own line above `right`.
std::string help_entry(const std::string& left, const std::string& right);

// Wraps a text to the width of a page.
std::string help_paragraph(const std::string& text);

// Formats the help pages. The entry of an option has the option's name and value on the left. On the right, it has the
// option's description, followed by the options that this option needs or excludes.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};
