/// \file
/// Checkpoint formats of other programs. load_checkpoint detects the format of a folder. A host program may add its own
/// formats.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A checkpoint format that can be read, written, or both.
struct CheckpointFormat {
  std::string name = {};     ///< for example "huggingface-fnet"
  std::string meaning = {};  ///< a one-line description
  /// Returns whether the contents of the file or folder at `path` have this format. If null, the format can't be
  /// detected, so users must give its name. Several threads may call each of these functions at the same time.
  std::function<bool(const std::string& path)> holds = {};
  /// Reads a checkpoint. Throws an Error that names the file and the key if anything is missing, damaged or unknown to
  /// weft. CheckpointInfo::notes lists everything that the function leaves out on purpose. If null, the format can't be
  /// read.
  std::function<Checkpoint(const std::string& path, const LoadOptions&)> load = {};
  /// Writes a checkpoint. Returns notes on what the format can't represent. Throws an Error and writes nothing if the
  /// format can't represent the model at all. If null, the format can't be written.
  std::function<std::vector<std::string>(const std::string& path, const Checkpoint&)> save = {};
  std::vector<std::string> files = {"model.safetensors",
                                    "config.json"};  ///< the files that save() writes or removes in the folder
};

/// Adds a format to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is taken, if
/// it has no name, or if it has neither `load` nor `save`. Any thread may call these functions at any time.
void register_checkpoint_format(CheckpointFormat format);
/// Returns the format of that name. Throws an Error if there is none. The reference stays valid for the rest of the
/// process.
const CheckpointFormat& checkpoint_format(const std::string& name);
std::vector<std::string> checkpoint_formats();  ///< the names of all formats, "weft" first
/// Detects the format of a file or folder and returns its name, or an empty text if the format is unknown.
std::string find_checkpoint_format(const std::string& path);

/// Reads a checkpoint of that format. Throws an Error if weft can only write the format.
Checkpoint load_checkpoint_as(const std::string& format, const std::string& path, const LoadOptions& options = {});
/// Writes a checkpoint in that format. Returns notes on what the format can't represent.
std::vector<std::string> save_checkpoint_as(const std::string& format, const std::string& path,
                                            const Checkpoint& checkpoint);

}  // namespace weft
WEFT_PUBLIC_END
