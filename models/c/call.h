// What every function of weft/weft_c.h goes through: no exception leaves it, and its message is kept for the thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "weft/tensor.h"
#include "weft/weft_c.h"

namespace weft::detail {

// A mistake of the caller's that has a status of its own.
class CallError : public Error {
 public:
  CallError(weft_status status, const std::string& message) : Error(message), status_(status) {}
  weft_status status() const noexcept { return status_; }

 private:
  weft_status status_;
};

// Keeps "function: message"; without memory for that, a text that says so.
void keep_error(const char* function, const char* message) noexcept;

// The message of the exception that is being handled is kept; gives its status.
weft_status handle_exception(const char* function) noexcept;

// Calls f; WEFT_OK unless it throws.
template <class F>
weft_status call(const char* function, F&& f) noexcept {
  try {
    std::forward<F>(f)();
    return WEFT_OK;
  } catch (...) {
    return handle_exception(function);
  }
}

[[noreturn]] inline void fail_argument(const std::string& message) { throw CallError(WEFT_INVALID_ARGUMENT, message); }

inline void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) fail_argument(std::string(name) + " is NULL");
}

// A list that may be empty. No memory has more bytes than a pointer can count; of 2^61 elements of 8 bytes it would count 0.
template <class T>
void check_list(const T* pointer, std::size_t size, const char* name) {
  if (pointer == nullptr && size > 0)
    fail_argument(std::string(name) + " is NULL, expected " + std::to_string(size) + " elements");
  if (size > PTRDIFF_MAX / sizeof(T))
    fail_argument(std::string(name) + " has " + std::to_string(size) + " elements, more than any memory");
}

// A buffer for `needed` elements, and where to say so.
inline void check_buffer(const void* buffer, std::size_t capacity, std::size_t needed, std::size_t* count,
                         const char* name) {
  if (count != nullptr) *count = needed;
  if (buffer == nullptr && capacity > 0)
    fail_argument(std::string(name) + " is NULL, its capacity " + std::to_string(capacity));
  if (capacity < needed)
    throw CallError(WEFT_BUFFER_TOO_SMALL, std::string(name) + " has room for " + std::to_string(capacity) +
                                               " elements, expected " + std::to_string(needed));
}

// A model's logits, f32 or bf16, into a buffer that has room for `needed`. Error if there are not as many. It allocates
// nothing: what made them, a stream, has gone on by then.
void give_logits(const Tensor& given, float* logits, std::size_t needed);

}  // namespace weft::detail
