#include "base/file_set.h"

#include <algorithm>
#include <filesystem>

#include "weft/detail/write_safetensors.h"

namespace weft::detail {

FileSet::FileSet(std::string folder) : folder_(std::move(folder)) { std::filesystem::create_directories(folder_); }

os::AtomicFile& FileSet::add(const std::string& name) {
  const bool follow = std::find(removed_.begin(), removed_.end(), name) == removed_.end();
  files_.push_back(std::make_unique<os::AtomicFile>(folder_ + "/" + name, follow));
  return *files_.back();
}

void FileSet::write(const std::string& name, const std::string& text) {
  os::AtomicFile& file = add(name);
  file.write(text.data(), text.size());
  file.sync();
}

void FileSet::write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
                    const std::map<std::string, std::string>& metadata) {
  os::AtomicFile& file = add(name);
  write_safetensors(file, folder_ + "/" + name, tensors, metadata);
  file.sync();
}

void FileSet::commit() {
  for (const std::string& name : removed_) std::filesystem::remove(folder_ + "/" + name);
  for (const auto& file : files_) file->commit();
}

}  // namespace weft::detail
