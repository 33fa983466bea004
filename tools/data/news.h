// weft data news: a small labelled set of what a Debian system says of its packages.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace data {

// Adds the subcommand; what it gives runs it.
std::function<int()> add_news(CLI::App& data);

}  // namespace data
