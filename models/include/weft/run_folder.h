/// \file
/// The folder of a run:
///
/// - `run.json`: its description, what Trainer::run doesn't know
/// - `metrics.jsonl`: a line for each step and for each evaluation, and one of the test at the end
/// - `last/`: the checkpoint of the last save, with the training state beside it
/// - `best/`: the checkpoint of the best evaluation so far, see RunOptions::best_by
/// - `.lock`: who trains into it now
/// - `report.html`: what weft report wrote of it
#pragma once
#include <string>

#include "weft/os.h"

#pragma GCC visibility push(default)
namespace weft {

std::string best_path(const std::string& folder);     ///< the best checkpoint's folder in that of a run
std::string last_path(const std::string& folder);     ///< the last checkpoint's
std::string state_path(const std::string& folder);    ///< the training state's file, which Trainer::load_state takes
std::string metrics_path(const std::string& folder);  ///< metrics.jsonl
std::string run_path(const std::string& folder);      ///< run.json

/// The checkpoint's folder that is meant: `folder` itself if it holds a checkpoint; else that of a run's, `which` being
/// "best" or "last", or empty: the best, or if there is none yet the last. Of a run that has saved no checkpoint yet and
/// replaces another, that one's.
/// Error if the run has no checkpoint of that name. load_checkpoint takes what this gives; and a run's folder, too.
std::string checkpoint_folder(const std::string& folder, const std::string& which = "");

/// A run's folder that is open for writing: no other process or RunFolder has it meanwhile. One thread's.
class RunFolder {
 public:
  /// Makes the folder if it is missing, locks it, and removes what killed processes left: temporary files, and half of
  /// what begin() does. Error if it can't be written, or, naming the holder, if it is in use.
  explicit RunFolder(const std::string& path);
  /// If the run that began here has saved nothing, the run that it was to replace is put back.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const noexcept { return path_; }  ///< as given
  /// A new run: writes run.json. What is there of another run, or of a checkpoint, is set aside in `replaced/`, and is
  /// removed when the new run has saved its first checkpoint.
  void begin(const std::string& description);
  /// Writes run.json again.
  void describe(const std::string& description);
  /// To be called after a checkpoint was saved: nothing of a former run is needed any more.
  void saved();

 private:
  std::string path_;
  os::FolderLock lock_;
};

/// What of a run or checkpoint is in the folder and would be lost with it, or empty: a file's path.
std::string saved_run(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
