#include "console/ranks.h"

#include <weft/context.h>
#include <weft/os.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <streambuf>
#include <thread>

#include "mpi/mpi_ranks.h"
#ifdef WEFT_MPI
#include <dlfcn.h>
#endif

namespace {

using weft::Error;

// Returns the number of processes that mpirun started, which Open MPI and PMI (MPICH, Slurm) pass in an environment
// variable. Returns -1 if only PMIx is present, which doesn't pass the number, and 0 without mpirun.
int ranks_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* count = std::getenv(name)) return std::atoi(count);
  return std::getenv("PMIX_RANK") != nullptr ? -1 : 0;
}

// Discards all output.
class Silence : public std::streambuf {
  int overflow(int c) override { return traits_type::not_eof(c); }
};

void print_nothing() {
  static Silence* const silence = new Silence;  // never deleted, because the streams are flushed at the very end
  std::cout.rdbuf(silence);
  std::cerr.rdbuf(silence);
}

// Reports an error that occurs in all processes and prevents them from communicating. Only the first process prints it.
[[noreturn]] void fail_all(const std::string& what) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name); rank != nullptr && std::atoi(rank) != 0) {
      print_nothing();
      std::this_thread::sleep_for(std::chrono::seconds(1));  // mpirun ends all processes when the first one ends
    }
  throw Error(what);
}

#ifdef WEFT_MPI
// In a build, the module is in the command's folder. In an installation, it is in a library folder. It is loaded from
// nowhere else.
std::filesystem::path module_path() {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path beside = folder / mpi_module;
  return std::filesystem::exists(beside) ? beside : folder / WEFT_MPI_FOLDER / mpi_module;
}

MpiStart start_mpi() {
  void* module = ::dlopen(module_path().c_str(), RTLD_NOW | RTLD_GLOBAL);  // Open MPI's own modules use its symbols
  if (module == nullptr)
    fail_all(std::string("mpirun started weft, but weft can't load its MPI module: ") + ::dlerror());
  using Start = MpiStart();
  Start* start = nullptr;
  *reinterpret_cast<void**>(&start) = ::dlsym(module, mpi_start_name);
  if (start == nullptr) fail_all(std::string("\"") + mpi_module + "\" belongs to a different version of weft");
  return start();
}
#else
MpiStart start_mpi() {
  fail_all(
      "mpirun started several processes, but this build of weft does not support MPI (Debian: apt-get install "
      "libopenmpi-dev)");
}
#endif

// A rank that is bound to certain CPUs uses these. Ranks that share all CPUs divide them equally.
void share_threads(int ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const int own = weft::default_threads();
  const int machine = weft::os::available_threads(static_cast<int>(std::thread::hardware_concurrency()));
  if (own * ranks > machine) weft::set_default_threads(std::max(1, machine / ranks));
}

}  // namespace

std::unique_ptr<weft::Ranks> start_ranks(int argc, char** argv) {
  const int started = ranks_started();
  if (argc < 2 || std::strcmp(argv[1], "train") != 0 || started == 0 || started == 1) return nullptr;
  const MpiStart start = start_mpi();
  if (start.error != nullptr) fail_all(start.error);
  if (start.ranks == nullptr && started > 1)
    fail_all("mpirun started " + std::to_string(started) +
             " processes that can't find each other: this mpirun and weft use different MPI libraries");
  std::unique_ptr<weft::Ranks> ranks(start.ranks);
  if (!ranks) return nullptr;
  share_threads(start.on_this_machine);
  if (ranks->rank() > 0) print_nothing();
  return ranks;
}
