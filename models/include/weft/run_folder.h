/// \file
/// The folder of a run contains:
///
/// - `run.json`: the description of the run, see RunFolder::begin() and Trainer::description()
/// - `metrics.jsonl`: a line for each step and for each evaluation, and a last line for the test, if there is one
/// - `last/`: the checkpoint of the last save, and the training state
/// - `best/`: the checkpoint of the best evaluation so far, see RunOptions::best_by
/// - `.lock`: the lock of the process that trains in the folder
/// - `report.html`: the report from `weft report`
#pragma once
#include <string>

#include "weft/os.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

std::string best_path(const std::string& folder);  ///< the folder of a run's best checkpoint
std::string last_path(const std::string& folder);  ///< the folder of a run's last checkpoint
/// The file with the training state of a run, which Trainer::load_state() reads.
std::string state_path(const std::string& folder);
std::string metrics_path(const std::string& folder);  ///< the path of metrics.jsonl
std::string run_path(const std::string& folder);      ///< the path of run.json

/// Returns the folder of a checkpoint. The result is `folder` itself if it holds a checkpoint, otherwise the folder of
/// a checkpoint of the run in `folder`. `which` is "best" or "last". If `which` is empty, the function selects the best
/// checkpoint, or the last one if there is no best one yet. If a run replaces another run and has saved no checkpoint
/// yet, the function selects a checkpoint of the replaced run. Throws an Error if the run has no checkpoint of that
/// name. You can pass the result to load_checkpoint, which also takes the folder of a run.
std::string checkpoint_folder(const std::string& folder, const std::string& which = "");

/// The folder of a run, open for writing. While it is open, no other process or RunFolder can open it. Not thread-safe.
class RunFolder {
 public:
  /// Creates the folder if it is missing, and locks it. Removes temporary files that killed processes left, and
  /// completes or undoes a begin() that was interrupted. Throws an Error if the folder can't be written. If another
  /// process uses the folder, the Error names this process.
  explicit RunFolder(const std::string& path);
  /// If a new run began in this folder but has saved nothing, restores the run that the new run would have replaced.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const noexcept { return path_; }  ///< the path that the constructor received
  /// Begins a new run and writes run.json. Moves the files of a previous run or of a checkpoint to `replaced/`. saved()
  /// removes them after the new run has saved its first checkpoint.
  void begin(const std::string& description);
  /// Writes run.json again.
  void describe(const std::string& description);
  /// Call this after saving a checkpoint. It removes the previous run, which is then no longer needed.
  void saved();

 private:
  std::string path_;
  os::FolderLock lock_;
};

/// Returns the path of one saved file or folder of a run or a checkpoint in `folder`, so that programs can refuse to
/// overwrite it. Returns an empty text if there is no such file or folder.
std::string saved_run(const std::string& folder);

}  // namespace weft
WEFT_PUBLIC_END
