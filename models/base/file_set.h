// Files of one folder that are replaced together.
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

// How the files of a folder take their places.
enum class Places {
  in_turn,   // one after the other: the folder's old and new files may stand side by side for a moment
  together,  // by a new folder in the place of the old one; in turn where that can't be (os::NewFolder)
};

// The turn at a folder, which is made if it is missing. Whoever writes a FileSet has it from before the first look at what
// the folder holds until after commit(), so that the files of the last of several writers all stand there.
// std::filesystem's own errors.
os::FolderTurn turn_at(const std::string& folder);

// Each file is written beside the old one and synced, so that a disk that is full is an Error with the folder as it was; then
// commit() lets them take their places, in the order in which they were written.
class FileSet {
 public:
  // The folder is made if it is missing. std::filesystem's own errors, too.
  explicit FileSet(std::string folder, Places places = Places::in_turn);

  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
             const std::map<std::string, std::string>& metadata);
  // A file that must not stand beside the new ones, not even for a moment: commit() removes it first. If it is to be written
  // anew, that comes later, and a link is replaced, not followed. Error if it is no file.
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
