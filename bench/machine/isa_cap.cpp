#include "machine/isa_cap.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "weft/context.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

// The values of the environment variables. CAPS of bench/machine/isa.py has the same values for the peers.
struct Cap {
  std::string onednn, c_library;
};
const std::map<std::string, Cap> caps = {
    {"sse2", {"SSE41", "-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load"}},
    {"avx2", {"AVX2", "-AVX512F,-AVX512VL,-AVX512BW"}},
    {"avx512", {"AVX512_CORE", ""}},
    {"avx512bf16", {"AVX512_CORE_BF16", ""}},
};

Isa available(const std::string& name) {
  std::string names;
  for (const Isa isa : available_isas()) {
    if (name == isa_name(isa)) return isa;
    names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  throw Error("--isa " + name + " is not available: expected one that this CPU and this build support: " + names);
}

// Returns true if the variable had another value.
bool set_variable(const char* name, const std::string& value) {
  const char* before = std::getenv(name);
  if (before != nullptr && before == value) return false;
  setenv(name, value.c_str(), 1);
  return true;
}

// With OMP_PROC_BIND, OpenMP binds this thread to its first place before main() starts. The restarted process must be
// able to use all places.
void unbind() {
  const int places = omp_get_num_places();
  if (places == 0) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int place = 0; place < places; ++place) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, cpus.data());
    for (const int cpu : cpus) CPU_SET(cpu, &all);
  }
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void cap_isa(const std::string& name, char** argv) {
  if (name.empty()) return;
  const Isa isa = available(name);
  const auto cap = caps.find(name);
  bool is_new = set_variable("WEFT_ISA", name);
  if (cap != caps.end()) {
    is_new = set_variable("ONEDNN_MAX_CPU_ISA", cap->second.onednn) || is_new;
    is_new = set_variable("DNNL_MAX_CPU_ISA", cap->second.onednn) || is_new;
    if (!cap->second.c_library.empty())
      is_new = set_variable("GLIBC_TUNABLES", "glibc.cpu.hwcaps=" + cap->second.c_library) || is_new;
  }
  if (is_new) {
    unbind();
    execv("/proc/self/exe", argv);  // returns only if it fails; in this case only weft is capped
  }
  Context::current().set_isa(isa);
}

}  // namespace weft::bench
