#include "options/checkpoint_option.h"

#include <weft/error.h>
#include <weft/os.h>
#include <weft/run_folder.h>

#include <filesystem>

#include "console/command.h"
#include "console/options.h"

void CheckpointOption::add_to(CLI::App& command) {
  add_checkpoint(command, "dir", folder, "Folder of a run, or of a checkpoint");
  add_checkpoint(command, "--checkpoint", which,
                 "Checkpoint of the run (best or last), or the folder of a checkpoint (default: best)");
}

void CheckpointOption::add_precision_to(CLI::App& command) {
  const auto set = [this](weft::Precision given) { precision = given; };
  add_precision(command, set, "f32; bf16 for a quantized checkpoint");
}

void CheckpointOption::add_pad_to(CLI::App& command) {
  add_number(command, "--pad-to", pad_to, {0}, "Pad rows to N tokens; 0: no padding",
             "as in training, or 0 for checkpoints of other programs");
}

void CheckpointOption::add_copy_to(CLI::App& command) {
  command.add_flag("--copy", copy,
                   "Read the weights into memory instead of mapping model.safetensors, so that the file can be changed "
                   "while weft runs");
}

weft::Checkpoint CheckpointOption::load() const {
  weft::LoadOptions options = weft::Purpose::inference;
  options.copy = copy;
  weft::Checkpoint loaded = weft::load_checkpoint(path(), options);
  if (precision) loaded.model->set_precision(*precision);
  if (pad_to) loaded.info.pad_to = *pad_to;
  if (const std::int64_t most = loaded.model->max_length(); pad_to && most > 0 && *pad_to > most)
    throw weft::Error("--pad-to " + std::to_string(*pad_to) + ": the model takes at most " + std::to_string(most) +
                      " tokens");
  return loaded;
}

std::string CheckpointOption::path() const {
  if (!given()) throw UsageError("give the folder of a run or of a checkpoint (or --checkpoint FOLDER)");
  return folder.empty() ? weft::checkpoint_folder(which) : weft::checkpoint_folder(folder, which);
}

std::string run_of(const std::string& checkpoint) {
  namespace fs = std::filesystem;
  const fs::path weights = fs::absolute(fs::path(checkpoint) / "model.safetensors").lexically_normal();
  const std::string path = weft::run_path(weights.parent_path().parent_path().string());
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? weft::os::read_file(path) : "";
}
