// Runs two ranks that end in ways that weft train's ranks don't. The first argument is MODULE. The second says what
// rank 1 does while rank 0 waits for it: "leave" or "abort".
#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <string>

#include "mpi/mpi_ranks.h"

int main(int, char** argv) {
  void* module = ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  void* symbol = module == nullptr ? nullptr : ::dlsym(module, mpi_start_name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  const std::unique_ptr<weft::Ranks> ranks(reinterpret_cast<MpiStart (*)()>(symbol)().ranks);
  if (ranks->rank() == 0) ranks->gather("");
  else if (argv[2] == std::string("abort")) ranks->abort("the reason");
  return 0;
}
