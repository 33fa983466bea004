// The command weft, which the package's script runs inside the module.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.h"

int run_command(int argc, char** argv);  // tools/console/command.h, whose other names need CLI11

namespace nb = nanobind;
using namespace nb::literals;

void weft::python::add_command(nb::module_& m) {
  m.def(
      "run_command",
      [](const std::vector<nb::bytes>& arguments) {
        std::vector<std::string> words;
        for (const nb::bytes& argument : arguments) words.emplace_back(argument.c_str(), argument.size());
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        return run_command(static_cast<int>(words.size()), argv.data());
      },
      "arguments"_a);
}
