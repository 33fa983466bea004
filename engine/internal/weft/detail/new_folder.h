// A folder that replaces another one as a whole.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace weft::os {

// The new folder is created next to the old one. The caller writes the new contents into it and calls take_place(). The
// destructor removes the folder at path() with its contents. This is the new folder, or the old one after take_place()
// has succeeded.
class NewFolder {
 public:
  // Returns null if the folder can't be replaced, because it is missing or empty, contains anything but files, is a
  // mount point or the working directory, belongs to another user, or its parent folder can't be written. On Windows,
  // no folder can be replaced.
  static std::unique_ptr<NewFolder> beside(const std::string& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  // Exchanges the names of the two folders in one step, so that the old folder's name refers to a complete folder at
  // all times. Before the exchange, files that exist only in the old folder are linked into the new one, except those
  // in `left_out`. Returns false and leaves the old folder unchanged if the exchange or a link fails, for example
  // because the file system does not support it.
  bool take_place(const std::vector<std::string>& left_out);

 private:
  NewFolder(std::string path, std::string old, int descriptor)
      : path_(std::move(path)), old_(std::move(old)), descriptor_(descriptor) {}
  bool keep_others(const std::vector<std::string>& left_out) const;

  std::string path_, old_;
  int descriptor_;  // the new folder, locked so that other processes know that it is in use
};

}  // namespace weft::os
