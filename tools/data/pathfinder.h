// weft data pathfinder: writes the pictures of the task Pathfinder.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace data {

// Adds the subcommand and returns the function that runs it.
std::function<int()> add_pathfinder(CLI::App& data);

}  // namespace data
