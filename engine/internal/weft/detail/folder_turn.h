// One writer at a time of files that stand together in a folder.
#pragma once
#include <string>

namespace weft::os {

// Waits until nobody else has the folder's turn, in this process or another, and has it until the end of its scope or
// of the process. The turn is an flock of a temporary file in the folder, which is removed with it. It belongs to the
// folder's name: if another folder takes the name while somebody waits (NewFolder), the wait begins anew there. Where
// no such file can be made or locked, nobody waits, and the writing that follows says why it fails.
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
