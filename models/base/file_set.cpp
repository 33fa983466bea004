#include "base/file_set.h"

#include <algorithm>
#include <filesystem>

#include "weft/detail/utf8_path.h"
#include "weft/detail/write_safetensors.h"

namespace weft::detail {

namespace fs = std::filesystem;

os::FolderTurn turn_at(const std::string& folder) {
  fs::create_directories(path_of(folder));
  return os::FolderTurn(folder);
}

FileSet::FileSet(std::string folder, Places places) : folder_(std::move(folder)) {
  fs::create_directories(path_of(folder_));
  if (places == Places::together) whole_ = os::NewFolder::beside(folder_);
}

// Writes and syncs the file. Error messages name its final path instead of its temporary one.
void FileSet::add(const std::string& name, const std::function<void(os::AtomicFile&)>& write) try {
  const bool follow = std::find(removed_.begin(), removed_.end(), name) == removed_.end();
  names_.push_back(name);
  files_.push_back(std::make_unique<os::AtomicFile>((whole_ ? whole_->path() : folder_) + "/" + name, follow));
  write(*files_.back());
  files_.back()->sync();
} catch (const Error& error) {
  std::string message = error.what();
  if (whole_)
    if (const std::size_t at = message.find(whole_->path()); at != std::string::npos)
      message.replace(at, whole_->path().size(), folder_);
  throw Error(message);
}

void FileSet::write(const std::string& name, const std::string& text) {
  add(name, [&](os::AtomicFile& file) { file.write(text.data(), text.size()); });
}

void FileSet::write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
                    const std::map<std::string, std::string>& metadata) {
  add(name, [&](os::AtomicFile& file) { write_safetensors(file, folder_ + "/" + name, tensors, metadata); });
}

void FileSet::remove(const std::string& name) {
  const fs::file_status found = fs::symlink_status(path_of(folder_ + "/" + name));
  if (fs::exists(found) && !fs::is_regular_file(found) && !fs::is_symlink(found))
    throw Error("[file] can't replace \"" + folder_ + "/" + name + "\": not a regular file");
  removed_.push_back(name);
}

void FileSet::commit() {
  if (whole_) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i]->commit();
      const fs::file_status old = fs::status(path_of(folder_ + "/" + names_[i]));
      if (fs::exists(old)) fs::permissions(path_of(whole_->path() + "/" + names_[i]), old.permissions());
    }
    if (whole_->take_place(removed_)) return;
  }
  for (const std::string& name : removed_) fs::remove(path_of(folder_ + "/" + name));
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (whole_) fs::rename(path_of(whole_->path() + "/" + names_[i]), path_of(folder_ + "/" + names_[i]));
    else files_[i]->commit();
}

}  // namespace weft::detail
