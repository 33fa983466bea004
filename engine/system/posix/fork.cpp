#include <pthread.h>

#include "system/futex.h"

namespace weft::os {

void in_forked_children(void (*handler)()) noexcept { (void)::pthread_atfork(nullptr, nullptr, handler); }

}  // namespace weft::os
