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

// Scratch from the memory cache, released at the end of the region whatever happens.
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

Context::Context() : threads_(os::available_threads()), isa_(best_isa()), memory_(std::make_shared<MemoryCache>()) {}
Context::~Context() = default;

Context& Context::current() {
  if (current_context != nullptr) return *current_context;
  thread_local Context own;
  return own;
}

void Context::set_threads(int count) {
  if (count < 1 || count > 1024) throw Error("[context] expected 1 to 1024 threads, got " + std::to_string(count));
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
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (n - 1) / grain + 1;
  const int threads = in_parallel_region() || pieces == 1 ? 1 : this->threads();
  const auto working = static_cast<std::size_t>(std::min<std::int64_t>(threads, pieces));
  const std::size_t stride = (scratch_bytes + 63) / 64 * 64;
  ScratchBlock scratch(*memory_, stride * working);
  run_tasks(*this, pieces, threads, [&](std::int64_t piece, int thread) {
    void* own = stride ? scratch.data() + stride * static_cast<std::size_t>(thread) : nullptr;
    body(piece * grain, std::min(n, (piece + 1) * grain), own);
  });
}

ContextScope::ContextScope(Context& context) noexcept : previous_(current_context) { current_context = &context; }
ContextScope::~ContextScope() { current_context = previous_; }

}  // namespace weft
