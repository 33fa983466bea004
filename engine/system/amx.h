// AMX, x86-64's tiles: what the CPU has of it, and the system's permission, without which its instructions are illegal.
#pragma once

namespace weft::os {

// Null if the CPU has the feature, amx-tile, amx-bf16 or amx-int8; else its name. Of amx-tile the system's permission is
// asked, once in a process (arch_prctl(2)): null if it is given, else what is lacking. The process has it from then on,
// in all threads: their signal stacks must hold the tiles' 8 KiB, too.
const char* lacking_amx(const char* feature) noexcept;

// What is lacking where asking ended with this errno, 0 for success.
const char* lacking_permission(int error) noexcept;

}  // namespace weft::os
