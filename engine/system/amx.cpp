#include "system/amx.h"

#include <cerrno>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace weft::os {

const char* lacking_permission(int error) noexcept {
  switch (error) {
    case 0: return nullptr;
    case EINVAL:
    case EOPNOTSUPP:
    case ENOSYS: return "a system that lets programs use AMX (Linux 5.16 or later)";
    case ENOSPC: return "signal stacks of its threads that have room for AMX's tiles";
    default: return "the system's permission to use AMX's tiles";
  }
}

#if defined(__x86_64__)
namespace {

// Of CPUID's leaf 7, in EDX.
constexpr struct {
  const char* name;
  unsigned bit;
} features[] = {{"amx-bf16", 22}, {"amx-tile", 24}, {"amx-int8", 25}};

bool cpu_has(const char* feature) noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  for (const auto& known : features)
    if (std::strcmp(known.name, feature) == 0) return (d >> known.bit & 1) != 0;
  return false;
}

// Null if all are there: only then is the system asked.
const char* first_lacking() noexcept {
  for (const auto& known : features)
    if (!cpu_has(known.name)) return known.name;
  return nullptr;
}

int ask_permission() noexcept {
  constexpr int request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA of Linux's asm/prctl.h
  return ::syscall(SYS_arch_prctl, request, tile_data) == 0 ? 0 : errno;
}

}  // namespace

const char* lacking_amx(const char* feature) noexcept {
  if (!cpu_has(feature)) return feature;
  if (std::strcmp(feature, "amx-tile") != 0) return nullptr;
  if (const char* other = first_lacking()) return other;
  static const char* const lacking = lacking_permission(ask_permission());
  return lacking;
}
#else
const char* lacking_amx(const char* feature) noexcept { return feature; }
#endif

}  // namespace weft::os
