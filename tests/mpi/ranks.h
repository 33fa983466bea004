// Runs weft train under mpirun. The environment variables WEFT and MPIRUN have the paths of both programs.
#pragma once
#include <string>

#include "../cli/command.h"
#include "temporary_folder.h"

namespace weft::test {

// Starts several ranks, possibly more than there are CPUs.
inline std::string mpirun(int ranks) { return "\"$MPIRUN\" --oversubscribe -n " + std::to_string(ranks) + " "; }

// The lines that weft itself prints, without its progress and without mpirun's lines.
inline std::string said_by_weft(const std::string& err) {
  std::string said;
  for (std::size_t begin = 0, end; (end = err.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (err.compare(begin, 6, "weft: ") == 0) said += err.substr(begin, end + 1 - begin);
  return said;
}

// Whether weft failed with one line that contains `part`.
inline bool fails_with_line(const Outcome& outcome, const std::string& part) {
  const std::string said = said_by_weft(outcome.err);
  return outcome.code != 0 && said.find('\n') == said.size() - 1 && contains(said, part);
}

inline const std::string run_files[] = {"best/model.safetensors", "best/config.json", "last/model.safetensors",
                                        "last/config.json", "last/training.safetensors"};

inline bool same_run(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  for (const std::string& file : run_files)
    if (folder.read(a + "/" + file).empty() || folder.read(a + "/" + file) != folder.read(b + "/" + file)) return false;
  return true;
}

}  // namespace weft::test
