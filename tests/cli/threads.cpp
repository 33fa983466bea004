// Tests of the number of threads that the command uses.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "command.h"

namespace weft::test {
namespace {

// Returns the number of threads that `weft info` prints with these environment variables.
double threads_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const Outcome outcome = weft("info");
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  return outcome.code == 0 ? number_after(outcome.out, "threads ") : std::nan("");
}

}  // namespace

TEST_CASE("weft: the number of threads is OpenMP's, with every implementation of threads") {
  const double usual = threads_with({});
  CHECK(usual >= 1);
  CHECK(threads_with({{"OMP_NUM_THREADS", "3"}}) == 3);
  CHECK(threads_with({{"OMP_NUM_THREADS", " 3 , 2"}}) == 3);
  CHECK(threads_with({{"OMP_NUM_THREADS", "9"}, {"OMP_THREAD_LIMIT", "4"}}) == 4);
  CHECK(threads_with({{"OMP_THREAD_LIMIT", "1"}}) == 1);
  CHECK(threads_with({{"OMP_NUM_THREADS", "5000"}}) == 1024);
  CHECK(threads_with({{"OMP_NUM_THREADS", "5000"}, {"OMP_THREAD_LIMIT", "6000"}}) == 1024);
#ifndef __clang__  // LLVM's OpenMP ends the process if the value is invalid
  for (const char* nonsense : {"", "0", "-2", "many", "3x"})
    CHECK(threads_with({{"OMP_NUM_THREADS", nonsense}}) == usual);
#endif
  // If the first thread is bound to a CPU, the other CPUs still count.
  CHECK(threads_with({{"OMP_PROC_BIND", "true"}}) == usual);
  CHECK(threads_with({{"OMP_PROC_BIND", "close"}, {"OMP_PLACES", "cores"}}) == usual);
  CHECK(threads_with({{"GOMP_CPU_AFFINITY", "0-1023"}}) == usual);
}

}  // namespace weft::test
