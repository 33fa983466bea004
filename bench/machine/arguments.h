// The command line of a benchmark.
#pragma once
#include <weft/error.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace weft::bench {

// Parses the arguments. If they ask for help, prints it and returns the exit code. Otherwise returns nothing. Throws an
// Error if an argument is wrong.
inline std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return {};
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + " (see --help)");
  }
}

}  // namespace weft::bench
