// One writer at a time of files that stand together in a folder.
#pragma once
#include <string>

namespace weft::os {

// Waits until no other one has the folder's turn, in this process or another, and has it until the end of its scope or of the
// process: an flock of a temporary file in the folder, which is removed with it. Where none can be made or locked, nobody
// waits: what is to be written then says why. A folder that took the other's place meanwhile (NewFolder) is waited for anew.
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
