#include "weft/detail/new_folder.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "system/posix/exchange.h"
#include "system/posix/temporary.h"

namespace weft::os {
namespace {

namespace fs = std::filesystem;

int open_folder(const std::string& path) noexcept {
  return uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
}

bool is_own(const struct stat& s) noexcept { return s.st_uid == ::geteuid(); }

bool is_mount([[maybe_unused]] const std::string& folder) noexcept {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx s;
  return ::statx(AT_FDCWD, folder.c_str(), 0, 0, &s) == 0 && (s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
  return false;
#endif
}

// Whether the folder contains nothing but regular files, and at least one that is not temporary.
bool is_plain(const std::string& folder) {
  bool any = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.symlink_status().type() != fs::file_type::regular) return false;
    any = any || !is_temporary(entry.path().filename().string());
  }
  return any;
}

// Removes the temporary folders that killed processes left behind in `folder`.
void remove_abandoned_folders(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_temporary(entry.path().filename().string())) continue;
    const Descriptor descriptor(open_folder(entry.path().string()));
    struct stat s;
    if (descriptor < 0 || ::fstat(descriptor, &s) != 0 || !is_own(s) || !try_lock(descriptor)) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

// Creates a temporary folder. Returns its path, or "" if it can't be created.
std::string make_in(const std::string& parent) {
  static std::atomic<unsigned> next{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string path =
        parent + "/.weft-" + std::to_string(::getpid()) + "-folder-" + std::to_string(next++) + ".tmp";
    if (::mkdir(path.c_str(), 0700) == 0) return path;
    if (errno != EEXIST) break;
  }
  return "";
}

bool can_be_replaced(const std::string& folder, const std::string& parent) {
  struct stat s, above;
  return ::stat(folder.c_str(), &s) == 0 && ::stat(parent.c_str(), &above) == 0 && s.st_dev == above.st_dev &&
         is_own(s) && !is_mount(folder) && ::access(folder.c_str(), W_OK | X_OK) == 0 && is_plain(folder) &&
         !fs::equivalent(folder, ".");
}

}  // namespace

std::unique_ptr<NewFolder> NewFolder::beside(const std::string& folder) try {
  const std::string old = fs::canonical(folder).string(), parent = fs::path(old).parent_path().string();
  if (!can_be_replaced(old, parent)) return nullptr;
  remove_abandoned_folders(parent);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const std::string path = make_in(parent);
    if (path.empty()) return nullptr;
    const int descriptor = open_folder(path);
    std::unique_ptr<NewFolder> made(new NewFolder(path, old, descriptor));
    if (descriptor >= 0 && lock_new(descriptor, path)) return made;
  }
  return nullptr;
} catch (const fs::filesystem_error&) {
  return nullptr;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool NewFolder::keep_others(const std::vector<std::string>& left_out) const {
  std::error_code error;
  for (fs::directory_iterator entry(old_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string(), here = path_ + "/" + name;
    if (is_temporary(name) || std::find(left_out.begin(), left_out.end(), name) != left_out.end() || fs::exists(here))
      continue;
    if (::link(entry->path().c_str(), here.c_str()) != 0) return false;
  }
  return !error;
}

bool NewFolder::take_place(const std::vector<std::string>& left_out) {
  struct stat old;
  if (descriptor_ < 0 || ::stat(old_.c_str(), &old) != 0 || !keep_others(left_out)) return false;
  (void)!::fchown(descriptor_, static_cast<uid_t>(-1), old.st_gid);
  if (::fchmod(descriptor_, old.st_mode & 07777) != 0) return false;
  (void)::fsync(descriptor_);
  if (!exchange_names(path_, old_)) return false;
  const Descriptor parent(open_folder(fs::path(old_).parent_path().string()));
  if (parent >= 0) (void)::fsync(parent);
  return true;
}

}  // namespace weft::os
