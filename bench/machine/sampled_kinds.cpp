// The sampling itself. It does not depend on weft, because Python programs load it as a separate library.
#include "machine/sampled_kinds.h"

#include <cstdint>
#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

enum Kind { other, sse, avx, avx2, avx512, avx512bf16, kinds };
volatile long counts[kinds];
timer_t timer;
// The signal handler has its own stack, because oneDNN's generated code leaves no room below its stack pointer.
alignas(64) char stack[1 << 16];
stack_t stack_before;
const int signal_number = SIGRTMIN + 5;

// The kind of a VEX instruction. The opcode map is 1 for 0F, 2 for 0F 38 and 3 for 0F 3A. `op` is the byte after the
// prefix. `is_wide` is true for 256 bits.
Kind vex_kind(int map, int op, bool is_wide) {
  if (map == 2 && op >= 0xF0) return other;  // BMI
  if (map == 3 && op == 0xF0) return other;
  const int low = op & 0x0F, high = op >> 4;
  if (map == 2 && low >= 6 && (high == 0x9 || high == 0xA || high == 0xB)) return avx2;  // FMA
  const bool is_integer = map == 1   ? (op >= 0x60 && op <= 0x6D) || (op >= 0x70 && op <= 0x76) || op >= 0xD1
                          : map == 2 ? !(op >= 0x0C && op <= 0x1A)
                                     : op == 0x46 || op == 0x0E || op == 0x0F || op == 0x02 || op <= 0x01;
  return is_wide && is_integer ? avx2 : avx;
}

Kind legacy_kind(const std::uint8_t* code) {
  while (*code == 0x66 || *code == 0xF2 || *code == 0xF3) ++code;
  if ((*code & 0xF0) == 0x40) ++code;  // REX
  if (*code != 0x0F) return other;
  const int op = code[1];
  const bool is_vector = (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2F) || (op >= 0x50 && op <= 0x7F) ||
                         op == 0x38 || op == 0x3A || op == 0xC2 || (op >= 0xC4 && op <= 0xC6) || op >= 0xD0;
  return is_vector ? sse : other;
}

// Classifies an instruction by its encoding: EVEX starts with 62, VEX with C5 or C4.
Kind kind_of(const std::uint8_t* code) {
  if (code[0] == 0x62) {
    const int map = code[1] & 7, op = code[4];
    const bool is_product = map == 2 && ((op >= 0x50 && op <= 0x53) || op == 0x72);
    return is_product ? avx512bf16 : avx512;
  }
  if (code[0] == 0xC5) return vex_kind(1, code[2], (code[1] & 4) != 0);
  if (code[0] == 0xC4) return vex_kind(code[1] & 31, code[3], (code[2] & 4) != 0);
  return legacy_kind(code);
}

void count(int, siginfo_t*, void* context) {
  const auto at = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const Kind kind = kind_of(reinterpret_cast<const std::uint8_t*>(at));
  counts[kind] = counts[kind] + 1;
}

}  // namespace

void weft_sampling_start() {
  for (int i = 0; i < kinds; ++i) counts[i] = 0;
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, &stack_before);
  struct sigaction action {};
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigaction(signal_number, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number;
  event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  itimerspec every{};
  every.it_interval.tv_nsec = every.it_value.tv_nsec = 200000;
  timer_settime(timer, 0, &every, nullptr);
}

void weft_sampling_stop(long* found) {
  timer_delete(timer);
  sigaltstack(&stack_before, nullptr);
  for (int i = 0; i < kinds; ++i) found[i] = counts[i];
}

#else

void weft_sampling_start() {}
void weft_sampling_stop(long* found) {
  for (int i = 0; i < 6; ++i) found[i] = 0;
}

#endif
