// A lock for the writers of files that belong together in a folder. Only one writer has it at a time.
#pragma once
#include <string>

namespace weft::os {

// The constructor waits until no other thread or process has the folder's turn. The turn ends with the scope or with
// the process. It is an flock of a temporary file in the folder, which is removed when the turn ends. The turn belongs
// to the folder's name: if another folder takes this name during the wait (NewFolder), the wait starts again in the new
// folder. If the file can't be created or locked, the constructor does not wait. The write that follows then reports
// the reason.
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
