// Files that are written atomically, and locks that only one process at a time can hold. A temporary file is open
// without FILE_SHARE_DELETE as long as its process lives, so other processes can remove it only if it is abandoned.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "system/shared.h"
#include "system/windows/handle.h"
#include "weft/detail/folder_turn.h"
#include "weft/detail/new_folder.h"
#include "weft/os.h"

namespace weft::os {
namespace {

// CREATE_NEW makes the name of a temporary file unique among all processes. This number makes it unique within the
// process.
std::atomic<unsigned> next_temporary{0};

std::string temporary_in(const std::string& folder) {
  return folder + "/.weft-" + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(next_temporary++) + ".tmp";
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == std::string::npos) return ".";
  return slash == 0 || path[slash - 1] == ':' ? path.substr(0, slash + 1) : path.substr(0, slash);
}

// Creates a temporary file in the folder.
HANDLE create_temporary(const std::string& folder, DWORD share, DWORD flags, std::string& name) {
  for (int attempt = 0;; ++attempt) {
    name = temporary_in(folder);
    const HANDLE file = ::CreateFileW(wide(name).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, share, nullptr,
                                      CREATE_NEW, flags, nullptr);
    if (file != INVALID_HANDLE_VALUE || ::GetLastError() != ERROR_FILE_EXISTS || attempt == 1000) return file;
  }
}

// Renames the open file. A file of this name is replaced. Returns 0, or the error.
DWORD rename_open_file(HANDLE file, const std::wstring& to) {
  const std::size_t bytes = sizeof(FILE_RENAME_INFO) + to.size() * sizeof(wchar_t);
  std::vector<std::uint64_t> memory(bytes / 8 + 1);
  auto* info = reinterpret_cast<FILE_RENAME_INFO*>(memory.data());
  info->FileNameLength = static_cast<DWORD>(to.size() * sizeof(wchar_t));
  std::copy(to.begin(), to.end(), info->FileName);
  // Since Windows 10, a file that is open or mapped can be replaced. The headers of mingw-w64 10 lack the names of these
  // numbers: FileRenameInfoEx, FILE_RENAME_FLAG_REPLACE_IF_EXISTS and FILE_RENAME_FLAG_POSIX_SEMANTICS.
  constexpr auto rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD replace_if_exists = 1, posix_semantics = 2;
  *reinterpret_cast<DWORD*>(info) = replace_if_exists | posix_semantics;
  if (::SetFileInformationByHandle(file, rename_info_ex, info, static_cast<DWORD>(bytes))) return 0;
  // Some file systems and Wine lack it.
  *reinterpret_cast<DWORD*>(info) = 0;
  info->ReplaceIfExists = TRUE;
  return ::SetFileInformationByHandle(file, FileRenameInfo, info, static_cast<DWORD>(bytes)) ? 0 : ::GetLastError();
}

const std::string aside = ".weft-old";

// Replaces the file at `path` by the open file. Another process that replaces the file, or a virus scanner, may have it
// open for a moment. Where a file that is open or mapped can't be replaced, it can be renamed: then it is moved aside,
// and removed as soon as nobody uses it. remove_abandoned_files() moves it back if the process is killed in between.
void replace_by_open_file(HANDLE file, const std::string& path) {
  const auto in_use = [](DWORD error) {
    return error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION || error == ERROR_USER_MAPPED_FILE;
  };
  const std::wstring to = wide(path), old = wide(path + aside);
  DWORD error = rename_open_file(file, to);
  for (int attempt = 0; attempt < 20 && in_use(error); ++attempt) {
    ::Sleep(5);
    error = rename_open_file(file, to);
  }
  if (error == 0) return;
  if (!in_use(error)) fail("write", path, error);
  (void)::DeleteFileW(old.c_str());
  if (!::MoveFileExW(to.c_str(), old.c_str(), 0)) fail("write", path, error);
  if (rename_open_file(file, to) != 0) {
    (void)::MoveFileExW(old.c_str(), to.c_str(), 0);
    fail("write", path, error);
  }
  (void)::DeleteFileW(old.c_str());
}

enum class Kind { missing, file, link, other };

Kind kind_of(const std::string& path) noexcept {
  const DWORD attributes = ::GetFileAttributesW(wide(path).c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return Kind::missing;
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) return Kind::link;
  return (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) != 0 ? Kind::other : Kind::file;
}

// The path of the regular file to which the link leads.
std::string target_of(const std::string& link) {
  const Handle file(open_to_read(link));
  std::wstring path(32768, 0);
  const DWORD size = ::GetFinalPathNameByHandleW(file.get(), path.data(), static_cast<DWORD>(path.size()), 0);
  if (size == 0 || size >= path.size()) fail("write", link);
  path.resize(size);
  return to_utf8(path);
}

std::string this_process() {
  char host[256] = "";
  DWORD size = sizeof host;
  (void)::GetComputerNameA(host, &size);
  return process_name(::GetCurrentProcessId(), host);
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
  ours = ours && is_holder(holder);
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
  const Kind old = kind_of(path);
  if (old == Kind::other) throw Error("[file] can't write \"" + path + "\": not a regular file");
  if (old == Kind::link && follow) path_ = target_of(path);
  const HANDLE file = create_temporary(folder_of(path_), FILE_SHARE_READ, FILE_ATTRIBUTE_NORMAL, temporary_);
  if (file == INVALID_HANDLE_VALUE) fail("write", path);
  descriptor_ = value_of(file);
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
  replace_by_open_file(handle_of(descriptor_), path_);
  temporary_.clear();
  ::CloseHandle(handle_of(descriptor_));
  descriptor_ = -1;
}

TemporaryFile::TemporaryFile(const std::string& folder) : folder_(folder) {
  std::string name;
  const HANDLE file = create_temporary(folder, 0, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, name);
  if (file == INVALID_HANDLE_VALUE) fail("write a temporary file in", folder);
  descriptor_ = value_of(file);
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
  const std::uint64_t before = size_of(file.get(), path);
  try {
    write_all(file.get(), text.data(), text.size(), path, true);
  } catch (const Error&) {
    LARGE_INTEGER end;
    end.QuadPart = static_cast<LONGLONG>(before);
    if (::SetFilePointerEx(file.get(), end, nullptr, FILE_BEGIN)) (void)::SetEndOfFile(file.get());
    throw;
  }
}

void remove_abandoned_files(const std::string& folder) {
  WIN32_FIND_DATAW found;
  const HANDLE search = ::FindFirstFileW(wide(folder + "/*").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return;
  do {
    if ((found.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) continue;
    const std::string name = to_utf8(found.cFileName), path = folder + "/" + name;
    if (is_temporary(name)) ::DeleteFileW(wide(path).c_str());
    if (name.size() <= aside.size() || name.compare(name.size() - aside.size(), aside.size(), aside) != 0) continue;
    const std::string replaced = path.substr(0, path.size() - aside.size());
    if (kind_of(replaced) == Kind::missing) ::MoveFileExW(wide(path).c_str(), wide(replaced).c_str(), 0);
    else ::DeleteFileW(wide(path).c_str());
  } while (::FindNextFileW(search, &found));
  ::FindClose(search);
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

// Only one process can open the file, because it shares nothing. The system removes the file when it is closed. While it
// does, access to the name is denied for a moment. If access is denied for longer, the folder can't be written.
FolderTurn::FolderTurn(const std::string& folder) : path_(folder + "/.weft-turn.tmp") {
  for (int denied = 0; denied < 500;) {
    descriptor_ = value_of(::CreateFileW(wide(path_).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE, 0, nullptr,
                                         OPEN_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
    if (descriptor_ != -1) return;
    const DWORD error = ::GetLastError();
    if (error != ERROR_SHARING_VIOLATION && error != ERROR_ACCESS_DENIED) return;
    if (error == ERROR_ACCESS_DENIED) ++denied;
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
