// A folder for a test's files. It is removed with all its contents at the end of the scope.
#pragma once
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    do {
      path_ = (std::filesystem::temp_directory_path() / ("weft-test-" + std::to_string(random()))).generic_string();
    } while (!std::filesystem::create_directory(path_));
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  // On Windows, a folder with a file that is still mapped can't be removed, and remove_all() of libstdc++ 12 would try
  // forever.
  ~TemporaryFolder() {
    std::error_code ignored;
    std::vector<std::filesystem::path> entries{path_};
    for (std::filesystem::recursive_directory_iterator next(path_, ignored), end; next != end; next.increment(ignored))
      entries.push_back(next->path());
    for (; !entries.empty(); entries.pop_back()) std::filesystem::remove(entries.back(), ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // Under Wine, files of a program that has just been killed may disappear during the removal.
  void remove(const std::string& name) const {
    std::error_code error;
    for (int i = 0; i < 100; ++i) {
      std::filesystem::remove_all(*this / name, error);
      if (error != std::errc::no_such_file_or_directory) break;
    }
    if (error) throw std::filesystem::filesystem_error("can't remove", *this / name, error);
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};
