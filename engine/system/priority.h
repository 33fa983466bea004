// The priority that a thread passes on to the threads that it starts.
#pragma once

namespace weft::os {

// Returns a number that is the same for two threads if the threads that they start have the same priority.
int inherited_priority() noexcept;

}  // namespace weft::os
