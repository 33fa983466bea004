/// \file
/// The folder of a run:
///
/// - `run.json`: the run's description, with what Trainer::run doesn't know
/// - `metrics.jsonl`: a line for each step and for each evaluation, and one of the test at the end
/// - `last/`: the checkpoint of the last save, with the training state beside it
/// - `best/`: the checkpoint of the best evaluation so far, see RunOptions::best_by
/// - `.lock`: held by the process that trains in the folder
/// - `report.html`: the report that weft report wrote
#pragma once
#include <string>

#include "weft/os.h"

#pragma GCC visibility push(default)
namespace weft {

std::string best_path(const std::string& folder);  ///< the folder of the best checkpoint in a run's folder
std::string last_path(const std::string& folder);  ///< the folder of the last checkpoint
/// The training state's file, the argument of Trainer::load_state.
std::string state_path(const std::string& folder);
std::string metrics_path(const std::string& folder);  ///< metrics.jsonl
std::string run_path(const std::string& folder);      ///< run.json

/// The folder of a checkpoint: `folder` itself if it holds a checkpoint; otherwise a checkpoint of the run in `folder`.
/// `which` is "best", "last", or empty for the best, or the last if there is no best yet. If a run has saved no
/// checkpoint yet and replaces another run, this gives the checkpoint of the replaced run. Throws an Error if the run
/// has no checkpoint of that name. load_checkpoint takes the result, and also a run's folder.
std::string checkpoint_folder(const std::string& folder, const std::string& which = "");

/// A run's folder, open for writing. No other process or RunFolder has it open meanwhile. Not thread-safe.
class RunFolder {
 public:
  /// Makes the folder if it is missing, locks it, and removes what killed processes left: temporary files and a begin()
  /// that was not completed. Throws an Error if the folder can't be written, or if it is in use; it then names the
  /// holder.
  explicit RunFolder(const std::string& path);
  /// If the run that began here has saved nothing, the run that it would have replaced is restored.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const noexcept { return path_; }  ///< as given
  /// Begins a new run: writes run.json. Files of another run or of a checkpoint are moved to `replaced/`, and are
  /// removed when the new run has saved its first checkpoint.
  void begin(const std::string& description);
  /// Writes run.json again.
  void describe(const std::string& description);
  /// Call this after saving a checkpoint: the previous run is then no longer needed.
  void saved();

 private:
  std::string path_;
  os::FolderLock lock_;
};

/// The path of a file of a run or checkpoint in the folder that would be lost with the folder; empty if there is none.
std::string saved_run(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
