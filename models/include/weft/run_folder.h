/// \file
/// The folder of a run contains:
///
/// - `run.json`: the run's description, including what Trainer::run doesn't know
/// - `metrics.jsonl`: a line for each step and for each evaluation, and finally a line for the test
/// - `last/`: the checkpoint of the last save, and the training state
/// - `best/`: the checkpoint of the best evaluation so far, see RunOptions::best_by
/// - `.lock`: the lock of the process that trains in the folder
/// - `report.html`: the report from `weft report`
#pragma once
#include <string>

#include "weft/os.h"

#pragma GCC visibility push(default)
namespace weft {

std::string best_path(const std::string& folder);  ///< the folder of the best checkpoint in the folder of a run
std::string last_path(const std::string& folder);  ///< the folder of the last checkpoint
/// The file of the training state, the argument of Trainer::load_state.
std::string state_path(const std::string& folder);
std::string metrics_path(const std::string& folder);  ///< the path of metrics.jsonl
std::string run_path(const std::string& folder);      ///< the path of run.json

/// Returns the folder of a checkpoint. This is `folder` itself if it holds a checkpoint, otherwise a checkpoint of the
/// run in `folder`. `which` is "best" or "last". If it is empty, the result is the best checkpoint, or the last one if
/// there is no best yet. If a run replaces another run and has saved no checkpoint yet, the result is the checkpoint of
/// the replaced run. Throws an Error if the run has no checkpoint of that name. load_checkpoint takes the result, and
/// also the folder of a run.
std::string checkpoint_folder(const std::string& folder, const std::string& which = "");

/// The folder of a run, open for writing. While it is open, no other process or RunFolder can open it. Not thread-safe.
class RunFolder {
 public:
  /// Creates the folder if it is missing, locks it, and removes what killed processes left: temporary files and an
  /// incomplete begin(). Throws an Error if the folder can't be written, or if it is in use. In the latter case the
  /// Error names the holder.
  explicit RunFolder(const std::string& path);
  /// Restores the run that a new run would have replaced, if the new run began here and has saved nothing.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const noexcept { return path_; }  ///< the path that the constructor received
  /// Begins a new run and writes run.json. Files of another run or of a checkpoint move to `replaced/`. They are
  /// removed when the new run has saved its first checkpoint.
  void begin(const std::string& description);
  /// Writes run.json again.
  void describe(const std::string& description);
  /// Call this after saving a checkpoint. The previous run is then no longer needed.
  void saved();

 private:
  std::string path_;
  os::FolderLock lock_;
};

/// Returns the path of a file in the folder that belongs to a run or a checkpoint, and that deleting the folder would
/// lose. Empty if there is none.
std::string saved_run(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
