// weft data news: writes a small labeled data set, made from the package descriptions of a Debian system.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace data {

// Adds the subcommand and returns the function that runs it.
std::function<int()> add_news(CLI::App& data);

}  // namespace data
