// Handles, paths and error messages for the files of this folder.
#pragma once
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "weft/error.h"

namespace weft::os {

[[noreturn]] inline void fail(const char* what, const std::string& path, DWORD error = ::GetLastError()) {
  std::string why = std::system_category().message(static_cast<int>(error));
  while (!why.empty() && (why.back() == '\n' || why.back() == '\r' || why.back() == '.')) why.pop_back();
  throw Error(std::string("[file] can't ") + what + " \"" + path + "\": " + why);
}

inline std::wstring from_utf8(const std::string& text) {
  const int size = static_cast<int>(text.size());
  std::wstring result(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)), 0);
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()));
  return result;
}

inline std::string to_utf8(const std::wstring& text) {
  const int size = static_cast<int>(text.size());
  std::string result(
      static_cast<std::size_t>(::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr)), 0);
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()), nullptr,
                        nullptr);
  return result;
}

// The absolute path, as Windows takes it: with the prefix \\?\, which it needs for more than 260 characters, and which
// allows no slash as a separator. `path` is in UTF-8.
inline std::wstring wide(const std::string& path) {
  const std::wstring given = from_utf8(path);
  std::wstring whole(MAX_PATH, 0);
  for (;;) {  // the size is too small, or the working folder changes meanwhile
    const DWORD size = ::GetFullPathNameW(given.c_str(), static_cast<DWORD>(whole.size()), whole.data(), nullptr);
    const bool fits = size < whole.size();
    whole.resize(size);
    if (fits) break;
  }
  const auto begins = [&](const wchar_t* with) { return whole.rfind(with, 0) == 0; };
  if (whole.empty() || begins(L"\\\\?\\") || begins(L"\\\\.\\")) return whole;
  if (begins(L"\\\\")) return L"\\\\?\\UNC" + whole.substr(1);  // a folder of the network
  return L"\\\\?\\" + whole;
}

// Windows guarantees that handles fit into 32 bits, so the public classes keep them as an int, as they keep descriptors
// on other systems. -1 is no handle.
inline HANDLE handle_of(int value) noexcept { return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(value)); }
inline int value_of(HANDLE handle) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)); }

class Handle {
 public:
  explicit Handle(HANDLE value) noexcept : value_(value) {}
  ~Handle() {
    if (*this) ::CloseHandle(value_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  explicit operator bool() const noexcept { return value_ != INVALID_HANDLE_VALUE && value_ != nullptr; }
  HANDLE get() const noexcept { return value_; }

  // Gives the handle to the caller, who must close it.
  HANDLE release() noexcept { return std::exchange(value_, INVALID_HANDLE_VALUE); }

 private:
  HANDLE value_;
};

// What other processes may do with the file while it is open.
constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// Throws an Error if the path does not name a regular file.
inline HANDLE open_to_read(const std::string& path) {
  Handle file(::CreateFileW(wide(path).c_str(), GENERIC_READ, share_all, nullptr, OPEN_EXISTING,
                            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file) fail("open", path);
  BY_HANDLE_FILE_INFORMATION about;
  if (::GetFileType(file.get()) != FILE_TYPE_DISK || !::GetFileInformationByHandle(file.get(), &about) ||
      (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
    throw Error("[file] can't open \"" + path + "\": not a regular file");
  return file.release();
}

inline std::uint64_t size_of(HANDLE file, const std::string& path) {
  LARGE_INTEGER size;
  if (!::GetFileSizeEx(file, &size)) fail("read the status of", path);
  return static_cast<std::uint64_t>(size.QuadPart);
}

// Reads at most `bytes` bytes at the offset. Returns the number of bytes, which is 0 at the end of the file.
inline std::size_t read_at(HANDLE file, std::uint64_t offset, void* data, std::size_t bytes, const std::string& path) {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD count = 0;
  const auto most = static_cast<DWORD>(bytes < (std::size_t{1} << 30) ? bytes : std::size_t{1} << 30);
  if (!::ReadFile(file, data, most, &count, &at) && ::GetLastError() != ERROR_HANDLE_EOF) fail("read", path);
  return count;
}

// Writes the bytes at the file's position, or, with `at_end`, at the end, where no other process can write in between.
inline void write_all(HANDLE file, const void* data, std::size_t bytes, const std::string& path, bool at_end = false) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    DWORD written = 0;
    const auto most = static_cast<DWORD>(bytes < (std::size_t{1} << 30) ? bytes : std::size_t{1} << 30);
    OVERLAPPED end{};
    end.Offset = end.OffsetHigh = 0xFFFFFFFF;
    if (!::WriteFile(file, next, most, &written, at_end ? &end : nullptr)) fail("write", path);
    next += written;
    bytes -= written;
  }
}

}  // namespace weft::os
