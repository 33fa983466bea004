// C functions, for Python's ctypes, too: the kinds are those of sampled.h, in its order.
#pragma once

extern "C" {
[[gnu::visibility("default")]] void weft_sampling_start();             // of the calling thread
[[gnu::visibility("default")]] void weft_sampling_stop(long* counts);  // by the same thread; a number of each kind
}
