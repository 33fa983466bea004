#include "weft/detail/folder_turn.h"

#include "system/posix/temporary.h"

namespace weft::os {

// A killed process leaves its file behind. The next process locks the same file, or remove_abandoned_files() removes
// it.
FolderTurn::FolderTurn(const std::string& folder) : path_(folder + "/.weft-turn.tmp") {
  while (descriptor_ < 0) {
    Descriptor file(uninterrupted(
        [&] { return ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666); }));
    if (file < 0) return;
    if (uninterrupted([&] { return ::flock(file, LOCK_EX); }) != 0) {
      ::unlink(path_.c_str());
      return;
    }
    if (is_named(file, path_)) descriptor_ = file.release();
  }
}

FolderTurn::~FolderTurn() {
  if (descriptor_ < 0) return;
  if (is_named(descriptor_, path_)) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace weft::os
