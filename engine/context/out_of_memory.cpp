#include "weft/detail/out_of_memory.h"

#include <string>

#include "weft/error.h"

namespace weft::detail {
namespace {

const OutOfMemory without_memory("[weft] out of memory");  // copying it allocates nothing

std::string text_of(const char* who) { return std::string("[") + who + "] out of memory"; }

}  // namespace

void fail_out_of_memory(const char* who) {
  try {
    throw OutOfMemory(text_of(who));
  } catch (const std::bad_alloc&) {
    throw without_memory;
  }
}

}  // namespace weft::detail
