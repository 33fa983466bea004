// Files that are written atomically, and locks that only one process at a time can hold. A temporary file is open
// without FILE_SHARE_DELETE as long as its process lives, so another process can remove it only if it is abandoned.
#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "system/windows/handle.h"
#include "weft/detail/folder_turn.h"
#include "weft/detail/new_folder.h"
#include "weft/os.h"

namespace weft::os {
namespace {

namespace fs = std::filesystem;

// CREATE_NEW makes the name of a temporary file unique among all processes. This number makes it unique within the
// process.
std::atomic<unsigned> next_temporary{0};

std::string temporary_in(const std::string& folder) {
  return folder + "/.weft-" + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(next_temporary++) + ".tmp";
}

bool is_temporary(const std::string& name) {
  return name.size() > 10 && name.rfind(".weft-", 0) == 0 && name.compare(name.size() - 4, 4, ".tmp") == 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == std::string::npos) return ".";
  return slash == 0 || path[slash - 1] == ':' ? path.substr(0, slash + 1) : path.substr(0, slash);
}

// Renames the open file. A file of this name is replaced, even if other programs have it open. Returns false and sets
// the last error if it can't be replaced.
bool rename_open_file(HANDLE file, const std::wstring& to) {
  const std::size_t bytes = sizeof(FILE_RENAME_INFO) + to.size() * sizeof(wchar_t);
  const std::vector<std::uint64_t> memory((bytes + 7) / 8 + 1);
  auto* info = const_cast<FILE_RENAME_INFO*>(reinterpret_cast<const FILE_RENAME_INFO*>(memory.data()));
  info->FileNameLength = static_cast<DWORD>(to.size() * sizeof(wchar_t));
  std::copy(to.begin(), to.end(), info->FileName);
  // Windows 10 and later: the names of files that are open or mapped can be reused. mingw-w64 10 doesn't name these
  // (FileRenameInfoEx; FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS).
  constexpr auto rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD replace_if_exists = 1, posix_semantics = 2;
  *reinterpret_cast<DWORD*>(info) = replace_if_exists | posix_semantics;
  if (::SetFileInformationByHandle(file, rename_info_ex, info, static_cast<DWORD>(bytes))) return true;
  const DWORD error = ::GetLastError();
  if (error != ERROR_INVALID_PARAMETER && error != ERROR_NOT_SUPPORTED && error != ERROR_INVALID_FUNCTION &&
      error != ERROR_CALL_NOT_IMPLEMENTED)
    return false;
  *reinterpret_cast<DWORD*>(info) = 0;
  info->ReplaceIfExists = TRUE;
  return ::SetFileInformationByHandle(file, FileRenameInfo, info, static_cast<DWORD>(bytes)) != 0;
}

const std::string holder_prefix = "process ";

std::string this_process() {
  char host[256] = "";
  DWORD size = sizeof host;
  (void)::GetComputerNameA(host, &size);
  return holder_prefix + std::to_string(::GetCurrentProcessId()) + " on " + host;
}

// Locks one byte far beyond the contents, because others may not read what is locked.
bool lock_far_byte(HANDLE file) noexcept {
  OVERLAPPED at{};
  at.OffsetHigh = 0x40000000;
  return ::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at) != 0;
}

// The contents of a lock file: the name of a process, or "". Other contents do not belong to weft: then `ours` becomes
// false.
std::string holder_in(HANDLE file, bool& ours) noexcept {
  char text[512];
  OVERLAPPED at{};
  DWORD count = 0;
  ours = ::ReadFile(file, text, sizeof text, &count, &at) || ::GetLastError() == ERROR_HANDLE_EOF;
  const std::string holder(text, ours ? count : 0);
  ours = ours && (holder.empty() || holder.rfind(holder_prefix, 0) == 0);
  return ours ? holder : "";
}

void set_contents(HANDLE file, const std::string& text) noexcept {
  DWORD written = 0;
  ::SetFilePointer(file, 0, nullptr, FILE_BEGIN);
  (void)(::SetEndOfFile(file) && ::WriteFile(file, text.data(), static_cast<DWORD>(text.size()), &written, nullptr));
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, bool follow) : path_(path) {
  if (path.empty()) fail("write", path, ERROR_PATH_NOT_FOUND);
  std::error_code error;
  const fs::path named = wide(path);
  const fs::file_status old = follow ? fs::status(named, error) : fs::symlink_status(named, error);
  const bool exists = fs::exists(old) && !fs::is_symlink(old);
  if (exists && !fs::is_regular_file(old)) throw Error("[file] can't write \"" + path + "\": not a regular file");
  if (exists && fs::is_symlink(fs::symlink_status(named, error))) path_ = to_utf8(fs::canonical(named).wstring());
  for (int attempt = 0; descriptor_ == -1; ++attempt) {
    temporary_ = temporary_in(folder_of(path_));
    descriptor_ = value_of(::CreateFileW(wide(temporary_).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE,
                                         FILE_SHARE_READ, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
    if (descriptor_ == -1 && (::GetLastError() != ERROR_FILE_EXISTS || attempt == 1000)) fail("write", path);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ != -1) ::CloseHandle(handle_of(descriptor_));
  if (!temporary_.empty()) ::DeleteFileW(wide(temporary_).c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (descriptor_ == -1) throw Error("[file] can't write \"" + path_ + "\": the file is already committed");
  synced_ = false;
  write_all(handle_of(descriptor_), data, bytes, path_);
}

void AtomicFile::sync() {
  if (descriptor_ == -1) throw Error("[file] can't write \"" + path_ + "\": the file is already committed");
  if (!synced_ && !::FlushFileBuffers(handle_of(descriptor_))) fail("write", path_);
  synced_ = true;
}

void AtomicFile::commit() {
  sync();
  if (!rename_open_file(handle_of(descriptor_), fs::absolute(wide(path_)).make_preferred().wstring()))
    fail("write", path_);
  temporary_.clear();
  ::CloseHandle(handle_of(descriptor_));
  descriptor_ = -1;
}

TemporaryFile::TemporaryFile(const std::string& folder) : folder_(folder) {
  descriptor_ =
      value_of(::CreateFileW(wide(temporary_in(folder)).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr,
                             CREATE_NEW, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
  if (descriptor_ == -1) fail("write a temporary file in", folder);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ != -1) ::CloseHandle(handle_of(descriptor_));
}

void TemporaryFile::write(const void* data, std::size_t bytes) {
  write_all(handle_of(descriptor_), data, bytes, folder_ + "/(temporary file)");
}

std::shared_ptr<const RandomAccessFile> TemporaryFile::finished() {
  return std::shared_ptr<const RandomAccessFile>(
      new RandomAccessFile(folder_ + "/(temporary file)", std::exchange(descriptor_, -1)));
}

void append(const std::string& path, const std::string& text) {
  const Handle file(::CreateFileW(wide(path).c_str(), GENERIC_READ | GENERIC_WRITE, share_all, nullptr, OPEN_ALWAYS,
                                  FILE_ATTRIBUTE_NORMAL, nullptr));
  if (!file) fail("write", path);
  if (::GetFileType(file.get()) != FILE_TYPE_DISK)
    throw Error("[file] can't write \"" + path + "\": not a regular file");
  LARGE_INTEGER end;
  if (!::SetFilePointerEx(file.get(), LARGE_INTEGER{}, &end, FILE_END)) fail("write", path);
  try {
    write_all(file.get(), text.data(), text.size(), path);
  } catch (const Error&) {
    if (::SetFilePointerEx(file.get(), end, nullptr, FILE_BEGIN)) (void)::SetEndOfFile(file.get());
    throw;
  }
}

void remove_abandoned_files(const std::string& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(wide(folder), ignored), end; entry != end; entry.increment(ignored))
    if (entry->is_regular_file(ignored) && is_temporary(to_utf8(entry->path().filename().wstring())))
      ::DeleteFileW(entry->path().c_str());
}

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/.lock";
  Handle file(::CreateFileW(wide(path).c_str(), GENERIC_READ | GENERIC_WRITE, share_all, nullptr, OPEN_ALWAYS,
                            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!file) fail("lock", folder);
  BY_HANDLE_FILE_INFORMATION about;
  if (!::GetFileInformationByHandle(file.get(), &about) ||
      (about.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0)
    throw Error("[file] can't lock \"" + folder + "\": expected \"" + path +
                "\" to be a regular file, got a symbolic link or another kind of file");
  bool ours = false;
  if (!lock_far_byte(file.get()) && ::GetLastError() == ERROR_LOCK_VIOLATION) {
    const std::string holder = holder_in(file.get(), ours);
    throw Error("\"" + folder + "\" is in use by " + (holder.empty() ? "another process" : holder));
  }
  (void)holder_in(file.get(), ours);
  if (ours && about.nNumberOfLinks == 1) set_contents(file.get(), this_process());
  descriptor_ = value_of(file.release());
}

FolderLock::~FolderLock() {
  bool ours = false;
  (void)holder_in(handle_of(descriptor_), ours);
  BY_HANDLE_FILE_INFORMATION about;
  if (ours && ::GetFileInformationByHandle(handle_of(descriptor_), &about) && about.nNumberOfLinks == 1)
    set_contents(handle_of(descriptor_), "");
  ::CloseHandle(handle_of(descriptor_));
}

// Only one process can open the file, because it shares nothing. The system removes the file when it is closed.
FolderTurn::FolderTurn(const std::string& folder) : path_(folder + "/.weft-turn.tmp") {
  for (;;) {
    descriptor_ = value_of(::CreateFileW(wide(path_).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr,
                                         OPEN_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
    if (descriptor_ != -1) return;
    const DWORD error = ::GetLastError();
    // While the system removes the file, access is denied. If the folder itself can't be written, access is denied, too.
    const bool in_use =
        error == ERROR_SHARING_VIOLATION ||
        (error == ERROR_ACCESS_DENIED && ::GetFileAttributesW(wide(path_).c_str()) != INVALID_FILE_ATTRIBUTES);
    if (!in_use) return;
    ::Sleep(2);
  }
}

FolderTurn::~FolderTurn() {
  if (descriptor_ != -1) ::CloseHandle(handle_of(descriptor_));
}

// Windows can't exchange two folders in one step, so no folder is ever replaced as a whole. Its files are replaced one
// after the other.
std::unique_ptr<NewFolder> NewFolder::beside(const std::string&) { return nullptr; }
NewFolder::~NewFolder() = default;
bool NewFolder::keep_others(const std::vector<std::string>&) const { return false; }
bool NewFolder::take_place(const std::vector<std::string>&) { return false; }

}  // namespace weft::os
