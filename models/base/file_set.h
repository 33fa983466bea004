// Files of one folder that are replaced together.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/os.h"
#include "weft/tensor.h"

namespace weft::detail {

// Each file is written beside the old one and synced, so that a disk that is full is an Error with the folder as it was; then
// commit() lets them take their places, in the order in which they were written.
class FileSet {
 public:
  // The folder is made if it is missing. std::filesystem's own errors, too.
  explicit FileSet(std::string folder);

  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& tensors,
             const std::map<std::string, std::string>& metadata);
  // A file that must not stand beside the new ones, not even for a moment: commit() removes it first. If it is to be written
  // anew, that comes later, and a link is replaced, not followed.
  void remove(const std::string& name) { removed_.push_back(name); }
  void commit();

 private:
  os::AtomicFile& add(const std::string& name);

  std::string folder_;
  std::vector<std::unique_ptr<os::AtomicFile>> files_;
  std::vector<std::string> removed_;
};

}  // namespace weft::detail
