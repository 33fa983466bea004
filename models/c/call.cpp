// The functions in weft/weft_c.h for status names, the last error of each thread, the version, and threads.
#include "c/call.h"

#include <algorithm>

#include "weft/context.h"

namespace weft::detail {
namespace {

constexpr const char* without_memory = "out of memory";

struct LastError {
  std::string text;
  const char* shown = "";
};

LastError& last_error() noexcept {
  thread_local LastError last;
  return last;
}

}  // namespace

void keep_error(const char* function, const char* message) noexcept {
  LastError& last = last_error();
  try {
    std::string text = std::string(function) + ": " + message;
    last.text.swap(text);  // frees the old text only now, because the message could be a part of it
    last.shown = last.text.c_str();
  } catch (const std::bad_alloc&) {
    last.shown = without_memory;
  }
}

weft_status handle_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const CallError& error) {
    keep_error(function, error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    keep_error(function, without_memory);
  } catch (const std::exception& error) {
    keep_error(function, error.what());
  } catch (...) {
    keep_error(function, "an exception of an unknown type");
  }
  return WEFT_FAILED;
}

namespace {

// Writes the elements of the axes from `axis` on in row-major order, and returns the position after the last one.
template <class T>
float* give(const T* from, const Tensor& given, std::size_t axis, float* to) {
  const std::int64_t size = given.shape()[axis], stride = given.strides()[axis];
  if (axis + 1 < given.shape().size()) {
    for (std::int64_t i = 0; i < size; ++i) to = give(from + i * stride, given, axis + 1, to);
    return to;
  }
  for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(from[i * stride]);
  return to + size;
}

}  // namespace

void give_logits(const Tensor& given, float* logits, std::size_t needed) {
  if (given.numel() != static_cast<std::int64_t>(needed))
    throw Error("expected " + std::to_string(needed) + " logits from the model, got " + to_string(given.shape()));
  if (given.dtype() == DType::bf16) give(static_cast<const bfloat16*>(given.raw()), given, 0, logits);
  else give(given.data<float>(), given, 0, logits);
}

}  // namespace weft::detail

using namespace weft::detail;

const char* weft_status_name(weft_status status) {
  switch (status) {
    case WEFT_OK: return "ok";
    case WEFT_INVALID_ARGUMENT: return "invalid argument";
    case WEFT_BUFFER_TOO_SMALL: return "buffer too small";
    case WEFT_FAILED: return "failed";
    case WEFT_CALLBACK_FAILED: return "callback failed";
  }
  return "unknown status";
}

const char* weft_last_error() { return last_error().shown; }

const char* weft_version() { return WEFT_VERSION; }

weft_status weft_set_default_threads(int count) {
  return call("weft_set_default_threads", [&] { weft::set_default_threads(count); });
}

weft_status weft_set_threads(int count) {
  return call("weft_set_threads", [&] { weft::Context::current().set_threads(count); });
}

int weft_threads() {
  int count = 0;
  call("weft_threads", [&] { count = weft::Context::current().threads(); });
  return count;
}
