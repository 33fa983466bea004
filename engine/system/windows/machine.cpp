// What Windows reports about the machine and the process, and pages of memory.
#include <malloc.h>

#include <algorithm>
#include <vector>

#include "system/heap.h"
#include "system/priority.h"
#include "system/windows/handle.h"
#include "weft/os.h"
// Needs windows.h before it.
#include <psapi.h>

namespace weft::os {

int available_threads(int cpus) noexcept {
  DWORD_PTR own = 0, all = 0;
  int threads = 0;
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all))
    for (; own != 0; own &= own - 1) ++threads;
  // Beyond 64 CPUs, Windows divides them into groups, and a mask has only those of one group.
  if (threads == 0 || ::GetActiveProcessorGroupCount() > 1)
    threads = static_cast<int>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
  return std::max({threads, cpus, 1});
}

std::int64_t second_cache() noexcept {
  static const std::int64_t bytes = [] {
    DWORD size = 0;
    (void)::GetLogicalProcessorInformation(nullptr, &size);
    std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(size / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
    if (!all.empty() && ::GetLogicalProcessorInformation(all.data(), &size))
      for (const auto& one : all)
        if (one.Relationship == RelationCache && one.Cache.Level == 2 && one.Cache.Size > 0)
          return static_cast<std::int64_t>(one.Cache.Size);
    return std::int64_t{512} << 10;
  }();
  return bytes;
}

std::uint64_t physical_memory() noexcept {
  MEMORYSTATUSEX status;
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : std::uint64_t{1} << 32;
}

std::uint64_t peak_resident_memory() noexcept {
  PROCESS_MEMORY_COUNTERS counters;
  return ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) ? counters.PeakWorkingSetSize : 0;
}

void lower_thread_priority() noexcept { (void)::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL); }
int inherited_priority() noexcept { return 0; }  // a new thread has the normal priority

std::vector<std::string> program_files() {
  static const char of_weft = 0;  // an address in the loaded file that contains weft
  HMODULE library = nullptr;
  (void)::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                             reinterpret_cast<const wchar_t*>(&of_weft), &library);
  std::vector<std::string> files;
  for (HMODULE module : {::GetModuleHandleW(nullptr), library}) {
    std::vector<wchar_t> name(32768);
    const DWORD length = ::GetModuleFileNameW(module, name.data(), static_cast<DWORD>(name.size()));
    if (length == 0 || length == name.size()) continue;
    const std::string file = to_utf8(std::wstring(name.data(), length));
    if (files.empty() || files.front() != file) files.push_back(file);
  }
  return files;
}

void* heap_block(std::size_t bytes) noexcept { return ::_aligned_malloc(bytes, 64); }
void free_heap_block(void* block) noexcept { ::_aligned_free(block); }

// Reserves more than `bytes` to find an address that is a multiple of the huge page size, frees it, and takes the pages
// at that address. Another thread may take them in between, so this is tried several times.
void* map_pages(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - 2 * huge_page) return nullptr;
  for (int attempt = 0; attempt < 10; ++attempt) {
    void* const all = ::VirtualAlloc(nullptr, bytes + huge_page, MEM_RESERVE, PAGE_NOACCESS);
    if (all == nullptr) return nullptr;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(all) + huge_page - 1) / huge_page * huge_page;
    (void)::VirtualFree(all, 0, MEM_RELEASE);
    void* const block = ::VirtualAlloc(reinterpret_cast<void*>(begin), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (block != nullptr || ::GetLastError() == ERROR_COMMITMENT_LIMIT) return block;
  }
  return nullptr;
}

void unmap_pages(void* block, std::size_t) noexcept { (void)::VirtualFree(block, 0, MEM_RELEASE); }

// Windows uses large pages only for programs with a special privilege.
void small_pages_at_end(void*, std::size_t) noexcept {}

}  // namespace weft::os
