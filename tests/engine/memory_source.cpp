// Tests of a memory source, with which a host program provides the memory. Every block of tensors and scratch memory
// comes from the source and returns to it. If the source refuses a block, weft throws an Error.
#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <new>

#include "op_table.h"
#include "system/heap.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/memory.h"

namespace weft::test {
namespace {

class Lent : public MemorySource {
 public:
  void* allocate(std::size_t bytes) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++asked;
    if (failing > 0 && asked >= failing) {
      if (throws == 1) throw std::bad_alloc();
      if (throws == 2) throw 7;
      return nullptr;
    }
    void* block = os::heap_block((bytes + 63) / 64 * 64);
    blocks[block] = bytes;
    lent += bytes;
    return block;
  }
  void release(void* block, std::size_t bytes) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks.find(block);
    if (found == blocks.end() || found->second != bytes) {
      ++strangers;
      return;
    }
    blocks.erase(found);
    lent -= bytes;
    os::free_heap_block(block);
  }

  std::int64_t asked = 0, failing = 0, strangers = 0;
  int throws = 0;
  std::size_t lent = 0;
  std::map<void*, std::size_t> blocks;

 private:
  std::mutex mutex_;
};

// The logits and gradients of a training step, in f32, as standard vectors.
std::vector<float> step(const std::string& arch) {
  const SmallTask small = small_task(arch, usual_task(arch));
  const Batch batch = small.data->training(0, Random(5));
  std::vector<float> all;
  Tape tape;
  Gradients gradients;
  const Tensor logits = (*small.model)(batch.tokens);
  tape.backward(mean(square(logits)), gradients);
  for (const auto& [name, parameter] : small.model->parameters())
    for (const float g : gradients.of(parameter).to_vector<float>()) all.push_back(g);
  for (const float y : logits.to_vector<float>()) all.push_back(y);
  return all;
}

}  // namespace

TEST_CASE("memory source: all blocks come from it and return to it") {
  const auto source = std::make_shared<Lent>();
  const std::weak_ptr<Lent> kept = source;
  {
    Context context;
    context.set_threads(3);
    context.memory().set_source(source);
    const ContextScope scope(context);
    const Tensor t = Tensor::full({1000, 1000}, 1);
    CHECK(source->lent == context.memory().use().current);
    CHECK(source->lent >= 4000000);
    for (const std::string& arch : own_architectures) (void)step(arch);
    const MemoryUse use = context.memory().use();
    CHECK(source->lent == use.current + use.cached);
    CHECK(source->asked == static_cast<std::int64_t>(use.system_allocations));
    CHECK(use.cached > 0);
    context.memory().set_cap(use.cached / 2);
    CHECK(source->lent == context.memory().use().current + context.memory().use().cached);
    context.memory().trim();
    CHECK(source->lent == use.current);
  }
  CHECK(source->blocks.empty());
  CHECK(source->strangers == 0);
  CHECK(source.use_count() == 1);
}

TEST_CASE("memory source: results are the same, bit by bit, as with the system's memory") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const std::vector<float> want = step(arch);
    Context context;
    context.memory().set_source(std::make_shared<Lent>());
    const ContextScope scope(context);
    CHECK(step(arch) == want);
  }
}

TEST_CASE("memory source: if it refuses any block, weft throws an Error and works afterwards") {
  const std::string arch = "tnn";
  const std::vector<float> want = step(arch);
  for (const int throws : {0, 1, 2}) {
    CAPTURE(throws);
    const auto source = std::make_shared<Lent>();
    Context context;
    context.memory().set_source(source);
    const ContextScope scope(context);
    (void)step(arch);
    context.memory().trim();
    const std::int64_t all = source->asked;
    source->throws = throws;
    int refused = 0;
    for (std::int64_t failing = 1; failing <= all; failing += 1 + all / 40) {
      CAPTURE(failing);
      source->asked = 0;
      source->failing = failing;
      context.memory().trim();
      if (throws == 2) {
        CHECK_THROWS_AS((void)step(arch), int);
        ++refused;
      } else {
        const std::string error = error_of([&] { (void)step(arch); });
        CHECK(error.find("memory") != std::string::npos);
        refused += !error.empty();
      }
      CHECK(context.memory().use().current == 0);
    }
    CHECK(refused > 5);
    context.memory().trim();
    if (throws < 2)
      CHECK_THROWS_WITH_AS((void)context.memory().allocate(1000), doctest::Contains("out of memory"), OutOfMemory);
    source->failing = 0;
    CHECK(step(arch) == want);
    context.memory().trim();
    CHECK(source->lent == 0);
    CHECK(source->strangers == 0);
  }
}

TEST_CASE("memory source: it can be set only while no block is in use, and blocks outlive context and owner") {
  auto source = std::make_shared<Lent>();
  const std::weak_ptr<Lent> weak = source;
  Tensor kept;
  {
    Context context;
    const ContextScope scope(context);
    {
      const Tensor t = Tensor::full({100}, 1);
      CHECK_THROWS_WITH_AS(context.memory().set_source(source), doctest::Contains("bytes are in use"), Error);
    }
    CHECK(context.memory().use().cached > 0);
    context.memory().set_source(source);
    CHECK(context.memory().use().cached == 0);  // this memory came from the system
    kept = Tensor::full({100}, 2);
    CHECK(source->lent == context.memory().use().current);
    CHECK_THROWS_AS(context.memory().set_source(nullptr), Error);
  }
  source.reset();
  CHECK_FALSE(weak.expired());
  CHECK(kept.data<float>()[99] == 2);
  kept = Tensor();
  CHECK(weak.expired());
  Context context;
  const ContextScope scope(context);
  source = std::make_shared<Lent>();
  context.memory().set_source(source);
  context.memory().set_source(nullptr);
  (void)Tensor::full({100}, 1);
  CHECK(source->asked == 0);
}

}  // namespace weft::test
