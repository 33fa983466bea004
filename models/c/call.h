// call() wraps every function in weft/weft_c.h. It catches all exceptions, and keeps the message for the thread.
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

// An error with its own status.
class CallError : public Error {
 public:
  CallError(weft_status status, const std::string& message) : Error(message), status_(status) {}
  weft_status status() const noexcept { return status_; }

 private:
  weft_status status_;
};

// Keeps the text "function: message" for weft_last_error(), or "out of memory" if there is no memory for it.
void keep_error(const char* function, const char* message) noexcept;

// Keeps the message of the current exception and returns its status.
weft_status handle_exception(const char* function) noexcept;

// Calls f and returns WEFT_OK unless it throws.
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

// Checks the size that the caller's struct contains. `init` is the name of the macro that initializes the struct, and
// `smallest` is the size of the struct in the oldest version of weft that had it.
template <class Options>
void check_struct_size(const Options& options, const char* type, const char* init,
                       std::size_t smallest = sizeof(Options)) {
  if (options.struct_size < smallest)
    fail_argument("options->struct_size is " + std::to_string(options.struct_size) + ", expected sizeof(" + type +
                  "), " + std::to_string(sizeof(Options)) + ": initialize it with " + init);
}

// Calls the caller's callback. A callback in C++ may throw, and the call then ends with the status
// WEFT_CALLBACK_FAILED.
template <class F>
auto from_callback(F f) {
  try {
    return f();
  } catch (const std::exception& error) {
    throw CallError(WEFT_CALLBACK_FAILED, std::string("the callback threw: ") + error.what());
  } catch (...) {
    throw CallError(WEFT_CALLBACK_FAILED, "the callback threw an exception of an unknown type");
  }
}

inline void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) fail_argument(std::string(name) + " is NULL");
}

// Checks a list, which may be empty. A list can't have more bytes than PTRDIFF_MAX. Without this check, the size of
// 2^61 elements of 8 bytes would wrap around to 0 bytes.
template <class T>
void check_list(const T* pointer, std::size_t size, const char* name) {
  if (pointer == nullptr && size > 0)
    fail_argument(std::string(name) + " is NULL, expected " + std::to_string(size) + " elements");
  if (size > PTRDIFF_MAX / sizeof(T))
    fail_argument(std::string(name) + " has " + std::to_string(size) + " elements, more than any memory can hold");
}

// Checks that a buffer has room for `needed` elements, and sets *count to this number.
inline void check_buffer(const void* buffer, std::size_t capacity, std::size_t needed, std::size_t* count,
                         const char* name) {
  if (count != nullptr) *count = needed;
  if (buffer == nullptr && capacity > 0)
    fail_argument(std::string(name) + " is NULL, but its capacity is " + std::to_string(capacity));
  if (capacity < needed)
    throw CallError(WEFT_BUFFER_TOO_SMALL, std::string(name) + " has room for " + std::to_string(capacity) +
                                               " elements, expected " + std::to_string(needed));
}

// Copies a model's logits, f32 or bf16, to a buffer of `needed` elements. Throws an Error if there are more or fewer
// logits. The function allocates nothing, so it can't run out of memory after a stream has already advanced.
void give_logits(const Tensor& given, float* logits, std::size_t needed);

}  // namespace weft::detail
