// C functions, also for Python's ctypes. The kinds are those of sampled.h, in its order.
#pragma once

extern "C" {
[[gnu::visibility("default")]] void weft_sampling_start();             // samples the calling thread
[[gnu::visibility("default")]] void weft_sampling_stop(long* counts);  // same thread; one count per kind
}
