// A folder that takes another's place as a whole.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace weft::os {

// Made beside the other; what it is to hold is written into it. Without take_place() it is removed with all that is in it.
class NewFolder {
 public:
  // Null where a folder's place can't be taken: it is missing or empty, holds anything but files, is a mount, another user's or the
  // working folder, or what it is in can't be written.
  static std::unique_ptr<NewFolder> beside(const std::string& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  // The two exchange their names (renameat2), so that at each moment the old one is there or the new one, and the old one is
  // removed. Its files that the new one hasn't stay, unless they are left out. False, with nothing changed, where the system or
  // the file system can't do that.
  bool take_place(const std::vector<std::string>& left_out);

 private:
  NewFolder(std::string path, std::string old, int descriptor)
      : path_(std::move(path)), old_(std::move(old)), descriptor_(descriptor) {}
  bool keep_others(const std::vector<std::string>& left_out) const;

  std::string path_, old_;
  int descriptor_;  // locked, by which others know that it is in use
};

}  // namespace weft::os
