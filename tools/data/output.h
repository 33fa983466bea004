// The files that weft data generates: existing files, and signals during the generation.
#pragma once
#include <string>
#include <vector>

namespace data {

// Makes the folder. Throws an Error if one of the files exists, unless `overwrite` is true.
void prepare_folder(const std::string& folder, const std::vector<std::string>& files, bool overwrite);

// After this call, the first SIGINT or SIGTERM asks the generation to stop, and a second one ends the program.
void catch_signals();
// Returns the signal that asked the generation to stop, or 0.
int stopped_by();
// Prints that nothing was written, and returns the exit code. Call this only after a signal.
int exit_stopped();

}  // namespace data
