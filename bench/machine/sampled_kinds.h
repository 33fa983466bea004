// C functions, which Python's ctypes can also call. The kinds are those of sampled.h, in the same order.
#pragma once

extern "C" {
[[gnu::visibility("default")]] void weft_sampling_start();             // starts sampling the calling thread
[[gnu::visibility("default")]] void weft_sampling_stop(long* counts);  // from the same thread; one count per kind
}
