// A lock for writers of files that belong together in a folder. Only one writer holds the lock at a time.
#pragma once
#include <string>

namespace weft::os {

// The constructor waits until no other thread or process holds the folder's lock. The destructor releases the lock. If
// the process ends first, the system releases it. The lock is one on a temporary file in the folder, which the
// destructor removes. The lock applies to the folder's name: if another folder takes this name during the wait
// (NewFolder), the constructor waits for the lock of the new folder. If the file can't be created or locked, the
// constructor does not wait. The caller's next write then reports the reason.
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
