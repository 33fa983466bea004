// Replaces several files of one folder together.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/folder_turn.h"
#include "weft/detail/new_folder.h"
#include "weft/os.h"
#include "weft/tensor.h"

namespace weft::detail {

// How the new files replace the old ones.
enum class Places {
  in_turn,   // one after the other; for a moment the folder may contain both old and new files
  together,  // in a new folder that replaces the old one; like in_turn if that isn't possible (os::NewFolder)
};

// Creates the folder if it is missing, and waits for its lock. A writer of a FileSet takes this lock before it first
// reads the folder, and releases it after commit(). If several processes write there at the same time, the folder
// therefore ends up with the complete files of the last one. May throw the errors of std::filesystem.
os::FolderTurn turn_at(const std::string& folder);

// Each file is first written under another name and synced. If the disk is full, this throws an Error and leaves the
// old files unchanged. commit() then moves the files into their places, in the order in which they were written.
class FileSet {
 public:
  // Creates the folder if it is missing. May also throw the errors of std::filesystem.
  explicit FileSet(std::string folder, Places places = Places::in_turn);

  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
             const std::map<std::string, std::string>& metadata);
  // Marks a file that must never exist together with the new files. commit() removes it before it moves the new files.
  // To write a new file of this name, call write() after remove(). If the old file is a link, write() then replaces the
  // link instead of following it. Throws an Error if the name belongs to something other than a file.
  void remove(const std::string& name);
  void commit();

 private:
  void add(const std::string& name, const std::function<void(os::AtomicFile&)>& write);

  std::string folder_;
  std::unique_ptr<os::NewFolder> whole_;  // null if the files are replaced in turn
  std::vector<std::unique_ptr<os::AtomicFile>> files_;
  std::vector<std::string> names_, removed_;
};

}  // namespace weft::detail
