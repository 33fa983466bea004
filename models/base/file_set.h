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

// How the new files take their places.
enum class Places {
  in_turn,   // one after the other; for a moment the folder may hold old and new files
  together,  // by a new folder that replaces the old one; in_turn if that isn't possible (os::NewFolder)
};

// The turn at a folder, which is made if it is missing. A writer of a FileSet holds the turn from before it first looks
// into the folder until after commit(). If several processes write there at once, the folder therefore ends with the
// complete files of the last one. May throw std::filesystem's errors.
os::FolderTurn turn_at(const std::string& folder);

// Each file is written beside the old one and synced. A full disk is therefore an Error that leaves the folder
// unchanged. commit() then moves the files into their places, in the order in which they were written.
class FileSet {
 public:
  // The folder is made if it is missing. May also throw std::filesystem's errors.
  explicit FileSet(std::string folder, Places places = Places::in_turn);

  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
             const std::map<std::string, std::string>& metadata);
  // A file that must never stand beside the new ones: commit() removes it first. A write of the same name must come
  // later; it replaces a link instead of following it. Throws an Error if the name is not that of a file.
  void remove(const std::string& name);
  void commit();

 private:
  void add(const std::string& name, const std::function<void(os::AtomicFile&)>& write);

  std::string folder_;
  std::unique_ptr<os::NewFolder> whole_;  // null: in turn
  std::vector<std::unique_ptr<os::AtomicFile>> files_;
  std::vector<std::string> names_, removed_;
};

}  // namespace weft::detail
