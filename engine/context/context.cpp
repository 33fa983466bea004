#include "weft/context.h"

#include <algorithm>
#include <string>

#include "context/threads.h"
#include "weft/detail/isas.h"
#include "weft/error.h"
#include "weft/os.h"

namespace weft {
using namespace detail;

namespace {

thread_local Context* current_context = nullptr;

// Scratch memory from the memory cache. The memory is released at the end of the scope, even after an exception.
class ScratchBlock {
 public:
  ScratchBlock(MemoryCache& memory, std::size_t bytes)
      : memory_(memory), bytes_(bytes), data_(bytes ? memory.allocate(bytes) : nullptr) {}
  ~ScratchBlock() {
    if (data_) memory_.release(data_, bytes_);
  }
  ScratchBlock(const ScratchBlock&) = delete;
  ScratchBlock& operator=(const ScratchBlock&) = delete;
  char* data() const noexcept { return static_cast<char*>(data_); }

 private:
  MemoryCache& memory_;
  std::size_t bytes_;
  void* data_;
};

}  // namespace

Isa detail::current_isa() { return Context::current().isa(); }

Context::Context() : isa_(best_isa()), memory_(std::make_shared<MemoryCache>()) {}
Context::~Context() = default;

Context& Context::current() {
  if (current_context != nullptr) return *current_context;
  thread_local Context own;
  return own;
}

int Context::threads() const {
  const int own = threads_.load(std::memory_order_relaxed);
  return own != 0 ? own : default_threads();
}

void Context::set_threads(int count) {
  check_threads(count);
  threads_.store(count, std::memory_order_relaxed);
}

void Context::set_isa(Isa isa) {
  require_isa("context", isa);
  isa_.store(isa, std::memory_order_relaxed);
}

void* Context::find_slot(std::type_index type) {
  std::lock_guard<std::mutex> lock(slots_mutex_);
  const auto found = slots_.find(type);
  return found == slots_.end() ? nullptr : found->second.get();
}

void* Context::add_slot(std::type_index type, std::shared_ptr<void> made) {
  std::lock_guard<std::mutex> lock(slots_mutex_);
  return slots_.emplace(type, std::move(made)).first->second.get();
}

void Context::parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  parallel_for(n, grain, 0, [&](std::int64_t begin, std::int64_t end, void*) { body(begin, end); });
}

void Context::parallel_for(std::int64_t n, std::int64_t grain, std::size_t scratch_bytes,
                           FunctionRef<void(std::int64_t, std::int64_t, void*)> body) {
  if (n <= 0) return;
  if (interrupt_ && !in_task()) interrupt_();
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (n - 1) / grain + 1;
  const int threads = loops_are_serial() || pieces == 1 ? 1 : this->threads();
  const auto working = static_cast<std::size_t>(std::min<std::int64_t>(threads, pieces));
  std::size_t padded = 0, total = 0;
  const bool is_too_large = __builtin_add_overflow(scratch_bytes, 63, &padded);
  const std::size_t stride = padded & ~std::size_t{63};  // bytes for one thread; total: for all threads
  if (is_too_large || __builtin_mul_overflow(stride, working, &total))
    throw Error("[context] expected scratch memory that fits into the address space, got " +
                std::to_string(scratch_bytes) + " bytes for each of " + std::to_string(working) + " threads");
  ScratchBlock scratch(*memory_, total);
  run_tasks(*this, executor_.get(), pieces, threads, [&](std::int64_t piece, int thread) {
    void* own = stride ? scratch.data() + stride * static_cast<std::size_t>(thread) : nullptr;
    const std::int64_t begin = piece * grain;
    body(begin, begin + std::min(grain, n - begin), own);
  });
}

void Context::parallel_region(FunctionRef<void()> body) {
  const ContextScope scope(*this);
  lead_region(executor_ ? 1 : threads(), body);
}

ContextScope::ContextScope(Context& context) noexcept : previous_(current_context) { current_context = &context; }
ContextScope::~ContextScope() { current_context = previous_; }

}  // namespace weft
