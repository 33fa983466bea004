#include "checkpoint_option.h"

#include <weft/run_folder.h>

#include "command.h"
#include "options.h"

void CheckpointOption::add_to(CLI::App& command) {
  add_checkpoint(command, "dir", folder, "Folder of a run, or of a checkpoint");
  add_checkpoint(command, "--checkpoint", which, "Of a run: best or last (default: best); or the folder by this name");
}

std::string CheckpointOption::path() const {
  if (!given()) throw UsageError("give the folder of a run or of a checkpoint (or --checkpoint FOLDER)");
  return folder.empty() ? weft::checkpoint_folder(which) : weft::checkpoint_folder(folder, which);
}
