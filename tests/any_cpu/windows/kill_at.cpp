// Linked into the command for Windows. Ends the process with TerminateProcess instead of its n-th call that changes or
// syncs a file, where n is WEFT_KILL_AT. cli/preload/kill_at.cpp does the same on Linux.
//
// Code that calls a function of kernel32.dll reads its address from a variable, for example __imp_WriteFile for
// WriteFile. The variables below take the place of those that the import library would add.
#include <windows.h>

#include <atomic>
#include <cstdlib>

namespace {

void count() {
  static const char* const at = std::getenv("WEFT_KILL_AT");
  static const long limit = at == nullptr ? 0 : std::atol(at);
  static std::atomic<long> calls{0};
  if (++calls == limit) ::TerminateProcess(::GetCurrentProcess(), 128 + 9);  // a shell's code for SIGKILL
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(reinterpret_cast<void*>(::GetProcAddress(::GetModuleHandleW(L"kernel32.dll"), name)));
}

BOOL WINAPI counted_write(HANDLE file, LPCVOID data, DWORD bytes, LPDWORD written, LPOVERLAPPED at) {
  if (file != ::GetStdHandle(STD_OUTPUT_HANDLE) && file != ::GetStdHandle(STD_ERROR_HANDLE)) count();
  return next<BOOL(WINAPI*)(HANDLE, LPCVOID, DWORD, LPDWORD, LPOVERLAPPED)>("WriteFile")(file, data, bytes, written,
                                                                                         at);
}
BOOL WINAPI counted_set_information(HANDLE file, FILE_INFO_BY_HANDLE_CLASS kind, LPVOID data, DWORD bytes) {
  count();
  return next<BOOL(WINAPI*)(HANDLE, FILE_INFO_BY_HANDLE_CLASS, LPVOID, DWORD)>("SetFileInformationByHandle")(
      file, kind, data, bytes);
}
BOOL WINAPI counted_move(LPCWSTR from, LPCWSTR to, DWORD flags) {
  count();
  return next<BOOL(WINAPI*)(LPCWSTR, LPCWSTR, DWORD)>("MoveFileExW")(from, to, flags);
}
BOOL WINAPI counted_delete(LPCWSTR path) {
  count();
  return next<BOOL(WINAPI*)(LPCWSTR)>("DeleteFileW")(path);
}
BOOL WINAPI counted_flush(HANDLE file) {
  count();
  return next<BOOL(WINAPI*)(HANDLE)>("FlushFileBuffers")(file);
}
BOOL WINAPI counted_set_end(HANDLE file) {
  count();
  return next<BOOL(WINAPI*)(HANDLE)>("SetEndOfFile")(file);
}

BOOL WINAPI counted_create_folder(LPCWSTR path, LPSECURITY_ATTRIBUTES security) {
  count();
  return next<BOOL(WINAPI*)(LPCWSTR, LPSECURITY_ATTRIBUTES)>("CreateDirectoryW")(path, security);
}

}  // namespace

#define WEFT_IMPORT(name, function) \
  extern "C" __attribute__((used)) decltype(&function) const import_##name __asm__("__imp_" #name) = &function
WEFT_IMPORT(WriteFile, counted_write);
WEFT_IMPORT(SetFileInformationByHandle, counted_set_information);
WEFT_IMPORT(MoveFileExW, counted_move);
WEFT_IMPORT(DeleteFileW, counted_delete);
WEFT_IMPORT(FlushFileBuffers, counted_flush);
WEFT_IMPORT(SetEndOfFile, counted_set_end);
WEFT_IMPORT(CreateDirectoryW, counted_create_folder);
