// Helpers that make each allocation of a call fail in turn.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "failing_memory.h"
#include "weft/error.h"

namespace weft::test {

// JSON's destructor allocates memory and ends the program if that fails. So only larger allocations fail in calls that
// use JSON.
constexpr std::size_t of_json = 300;

// Runs `body` and makes its allocation number `failing` fail. Returns false if `body` succeeds. If `body` throws
// anything except a Failure about memory, the test fails. Functions that load files add the file's name, and throw an
// Error.
template <class Failure = OutOfMemory>
bool runs_out(const std::function<void()>& body, std::int64_t failing, std::size_t smallest = 0,
              bool sustained = false) {
  std::string what = "nothing";
  try {
    const FailingMemory memory(failing, smallest, sustained);
    body();
    return false;
  } catch (const Failure& error) {
    what = error.what();
  } catch (const std::bad_alloc&) {
    what = "std::bad_alloc";
  }
  CAPTURE(failing);
  CHECK_MESSAGE(what.find("memory") != std::string::npos, what);
  return true;
}

inline std::int64_t allocations_of(const std::function<void()>& body, std::size_t smallest = 0) {
  const FailingMemory memory(0, smallest);
  body();
  return memory.allocations();
}

// Chooses at least `wanted` allocation numbers from 1 … last. They include the last `tail` numbers. During these
// allocations, files are written that must stay intact.
inline std::vector<std::int64_t> chosen(std::int64_t last, std::int64_t wanted, std::int64_t tail = 60) {
  std::vector<std::int64_t> all;
  const std::int64_t step = std::max<std::int64_t>(1, last / wanted);
  for (std::int64_t k = 1; k <= last; k += k < last - tail ? step : 1) all.push_back(k);
  return all;
}

}  // namespace weft::test
