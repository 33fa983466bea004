// Prints one line: the instruction set that weft chooses on this CPU, and the features of engine/system/hwcap.h that
// the CPU has.
#include <cstdio>

#include "system/hwcap.h"
#include "weft/cpu.h"

int main() {
  using namespace weft::detail;
  std::fputs(weft::isa_name(weft::best_isa()), stdout);
  if (hwcap::has(hwcap::ASIMDDP)) std::fputs(" ASIMDDP", stdout);
  if (hwcap::has(hwcap::BF16)) std::fputs(" BF16", stdout);
  std::puts("");
}
