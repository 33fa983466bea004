// The pages that --help prints.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// `left` in the left column, or above if it is too long, and `right` beside it in as many lines as it takes.
std::string help_entry(const std::string& left, const std::string& right);

// A text in lines of a page's width.
std::string help_paragraph(const std::string& text);

// An option is its name and value on the left; beside it what it means, with its partners in sentences at the end.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};
