// A folder that replaces another one as a whole.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace weft::os {

// The new folder is made beside the old one, and its contents are written into it. Without take_place() it is removed
// with its contents.
class NewFolder {
 public:
  // Null if the folder can't be replaced: it is missing or empty, holds anything but files, is a mount point or the
  // working folder, belongs to another user, or its parent folder can't be written.
  static std::unique_ptr<NewFolder> beside(const std::string& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  // Exchanges the names of the two folders (renameat2), so that at each moment either the old or the new one exists.
  // The old one is then removed. Files that only the old one has are linked into the new one first, except those in
  // `left_out`. Returns false, with nothing changed, if the system or the file system does not support this.
  bool take_place(const std::vector<std::string>& left_out);

 private:
  NewFolder(std::string path, std::string old, int descriptor)
      : path_(std::move(path)), old_(std::move(old)), descriptor_(descriptor) {}
  bool keep_others(const std::vector<std::string>& left_out) const;

  std::string path_, old_;
  int descriptor_;  // locked, so that other processes know that it is in use
};

}  // namespace weft::os
