#include "checkpoint_option.h"

#include <weft/run_folder.h>

#include "command.h"
#include "options.h"

void CheckpointOption::add_to(CLI::App& command) {
  add_checkpoint(command, "dir", folder, "Folder of a run, or of a checkpoint");
  add_checkpoint(command, "--checkpoint", which, "Of a run: best or last (default: best); or the folder by this name");
}

void CheckpointOption::add_precision_to(CLI::App& command) {
  const auto set = [this](weft::Precision given) { precision = given; };
  add_precision(command, set, "f32; of a quantised checkpoint bf16");
}

weft::Checkpoint CheckpointOption::load() const {
  weft::Checkpoint loaded = weft::load_checkpoint(path(), weft::Purpose::inference);
  if (precision) loaded.model->set_precision(*precision);
  return loaded;
}

std::string CheckpointOption::path() const {
  if (!given()) throw UsageError("give the folder of a run or of a checkpoint (or --checkpoint FOLDER)");
  return folder.empty() ? weft::checkpoint_folder(which) : weft::checkpoint_folder(folder, which);
}
