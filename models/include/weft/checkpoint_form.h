/// \file
/// Forms of checkpoints: in which other programs keep models. load_checkpoint knows a folder's form by itself; a host program
/// may add forms of its own.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "weft/checkpoint.h"

#pragma GCC visibility push(default)
namespace weft {

/// A form that checkpoints are read from, written in, or both.
struct CheckpointForm {
  std::string name = {};     ///< "huggingface-fnet"
  std::string meaning = {};  ///< a line of text
  /// Whether the file or folder holds one, by what it says of itself; none: it can't be told, and its name is to be given.
  /// Several threads may call each of these functions at once.
  std::function<bool(const std::string& path)> holds = {};
  /// Error, naming file and key, for what is missing, damaged or unknown to weft: nothing is left out in silence, but what is
  /// left out on purpose is in CheckpointInfo::notes. None: it can't be read.
  std::function<Checkpoint(const std::string& path, const LoadOptions&)> load = {};
  /// Gives notes on what the form has no place for. Error, with nothing written, for a model that it can't hold. None: it
  /// can't be written.
  std::function<std::vector<std::string>(const std::string& path, const Checkpoint&)> save = {};
  std::vector<std::string> files = {"model.safetensors",
                                    "config.json"};  ///< what save() writes or removes in the folder
};

/// Adds one to weft's own, for the rest of the process. Error, with nothing added, if its name is taken, or if it has no
/// name, or can be neither read nor written. Any thread may call these functions at any time.
void register_checkpoint_form(CheckpointForm form);
/// Error if there is none of that name. It stays where it is for the rest of the process.
const CheckpointForm& checkpoint_form(const std::string& name);
std::vector<std::string> checkpoint_forms();  ///< their names, "weft" first
/// The name of the form that the file or folder holds; empty if none can be told.
std::string find_checkpoint_form(const std::string& path);

/// Reads a checkpoint of that form. Error, naming the way, if it can't be read.
Checkpoint load_checkpoint_as(const std::string& form, const std::string& path, const LoadOptions& options = {});
/// Writes one, and gives notes on what the form has no place for.
std::vector<std::string> save_checkpoint_as(const std::string& form, const std::string& path,
                                            const Checkpoint& checkpoint);

}  // namespace weft
#pragma GCC visibility pop
