// Admits one writer at a time of files that belong together in a folder.
#pragma once
#include <string>

namespace weft::os {

// Waits until nobody else, in this process or another, has the folder's turn. Keeps the turn until the end of the scope
// or of the process. The turn is an flock of a temporary file in the folder, and the file is removed with it. It
// belongs to the folder's name: if another folder takes the name during the wait (NewFolder), the wait starts again
// there. If the file can't be made or locked, nobody waits; the following write then reports the reason.
class FolderTurn {
 public:
  explicit FolderTurn(const std::string& folder);
  ~FolderTurn();
  FolderTurn(const FolderTurn&) = delete;
  FolderTurn& operator=(const FolderTurn&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace weft::os
