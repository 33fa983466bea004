// The command line of a benchmark.
#pragma once
#include <weft/context.h>
#include <weft/error.h>
#include <weft/precision.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace weft::bench {

// The options that all programs have.
struct CommonOptions {
  int threads = Context::current().threads();
  std::string isa;
};

inline void add_common_options(CLI::App& app, CommonOptions& o) {
  app.add_option("--threads", o.threads, "Threads to compute with")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option(
         "--isa", o.isa,
         "Best instruction set to use: sse2, avx2 and so on. It caps weft (like WEFT_ISA), oneDNN, the limits of "
         "the machine, and the copy functions of the C library, but not FFTW. Default: the best one of this CPU")
      ->type_name("NAME");
}

// The precisions of the programs that run whole models.
inline CLI::Option* add_precision(CLI::App& app, std::string& precision, const std::string& int8_note,
                                  const std::vector<std::string>& narrow = {"int8"}) {
  std::vector<std::string> names = precisions();
  names.insert(names.end(), narrow.begin(), narrow.end());
  return app
      .add_option("--precision", precision,
                  "Precision of the computation: f32, bf16 with f32 parameters, or " + narrow.front() +
                      (narrow.size() > 1 ? " and " + narrow.back() : "") + " (" + int8_note + ")")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
}

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

// The body of main(). If `run` throws, prints the error and returns 2.
inline int main_of(const char* program, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << std::endl;
    return 2;
  }
}

}  // namespace weft::bench
