// The engine that each page contains: weft-page.wasm.gz, which a separate build for WebAssembly makes.
#pragma once
#include <string>

namespace page {

// Reads the file `given`, or, if it is empty, the file that is installed with the command. Throws an Error that says how
// to build it if it is missing.
std::string read_engine(const std::string& given);

}  // namespace page
