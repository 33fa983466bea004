#include "base/file_set.h"

#include <algorithm>
#include <filesystem>

#include "weft/detail/write_safetensors.h"

namespace weft::detail {

FileSet::FileSet(std::string folder) : folder_(std::move(folder)) { std::filesystem::create_directories(folder_); }

os::AtomicFile& FileSet::add(const std::string& name) {
  files_.emplace_back(name, std::make_unique<os::AtomicFile>(folder_ + "/" + name));
  return *files_.back().second;
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
  for (const std::string& name : removed_) {
    const bool comes = std::any_of(files_.begin(), files_.end(), [&](const auto& file) { return file.first == name; });
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::remove(comes ? std::filesystem::weakly_canonical(path) : path);  // a link that is written stays
  }
  for (const auto& file : files_) file.second->commit();
}

}  // namespace weft::detail
