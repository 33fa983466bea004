/// \file
/// Formats of checkpoints in which other programs keep models. load_checkpoint detects a folder's format. A host
/// program may add its own formats.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "weft/checkpoint.h"

#pragma GCC visibility push(default)
namespace weft {

/// A format that checkpoints are read from, written in, or both.
struct CheckpointForm {
  std::string name = {};     ///< "huggingface-fnet"
  std::string meaning = {};  ///< a line of text
  /// Whether the file or folder has this format, judged by its content. Null: the format can't be detected, and users
  /// must give its name. Several threads may call each of these functions at once.
  std::function<bool(const std::string& path)> holds = {};
  /// Reads a checkpoint. Throws an Error, naming file and key, for anything missing, damaged or unknown to weft.
  /// Nothing is dropped silently: CheckpointInfo::notes lists what is left out on purpose. Null: the format can't be
  /// read.
  std::function<Checkpoint(const std::string& path, const LoadOptions&)> load = {};
  /// Writes a checkpoint and returns notes on what the format can't hold. For a model that it can't hold, it throws an
  /// Error and writes nothing. Null: the format can't be written.
  std::function<std::vector<std::string>(const std::string& path, const Checkpoint&)> save = {};
  std::vector<std::string> files = {"model.safetensors",
                                    "config.json"};  ///< the files that save() writes or removes in the folder
};

/// Adds a format to weft's own, for the rest of the process. If its name is taken, if it has no name, or if it can be
/// neither read nor written, this throws an Error and adds nothing. Any thread may call these functions at any time.
void register_checkpoint_form(CheckpointForm form);
/// The format of that name; an Error if there is none. The reference stays valid for the rest of the process.
const CheckpointForm& checkpoint_form(const std::string& name);
std::vector<std::string> checkpoint_forms();  ///< their names, "weft" first
/// The name of the file's or folder's format; empty if none is detected.
std::string find_checkpoint_form(const std::string& path);

/// Reads a checkpoint of that format. If it can't be read, the Error says how it could be.
Checkpoint load_checkpoint_as(const std::string& form, const std::string& path, const LoadOptions& options = {});
/// Writes a checkpoint in that format and returns notes on what the format can't hold.
std::vector<std::string> save_checkpoint_as(const std::string& form, const std::string& path,
                                            const Checkpoint& checkpoint);

}  // namespace weft
#pragma GCC visibility pop
