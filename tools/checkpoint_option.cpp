#include "checkpoint_option.h"

#include <weft/run_folder.h>

std::vector<CLI::Option*> CheckpointOption::add_to(CLI::App& command) {
  auto* dir = command.add_option("dir", folder, "Folder of a run, or of a checkpoint")->type_name("DIR");
  auto* name = command.add_option("--checkpoint", which, "Of a run: best or last (default: best); or DIR by this name")
                   ->type_name("NAME");
  return {dir, name};
}

std::string CheckpointOption::path() const {
  return folder.empty() ? weft::checkpoint_folder(which) : weft::checkpoint_folder(folder, which);
}

void CheckpointOption::require() const {
  if (!given()) throw CLI::RequiredError("DIR, the folder of a run or of a checkpoint,");
}
