// Shows what a program that embeds weft can rely on: a custom memory source, a custom log, exceptions, and fork(). It
// also shows that weft prints nothing.
//   host CHECKPOINT_FOLDER
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/generate.h>
#include <weft/memory.h>
#include <weft/ops.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

// The memory source of the host program, with a limit.
class Arena : public weft::MemorySource {
 public:
  void* allocate(std::size_t bytes) override {
    if (in_use + bytes > limit) return nullptr;
    in_use += bytes;
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void release(void* block, std::size_t bytes) noexcept override {
    in_use -= bytes;
    std::free(block);
  }
  std::atomic<std::size_t> in_use{0}, limit{std::size_t{1} << 40};
};

std::vector<float> answer(const weft::Model& model) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 16; ++i) ids.push_back(1 + i * 7 % 10);
  std::vector<float> logits = model(weft::Tensor::from(ids, {1, 16})).to_vector<float>();
  // These matrices are large enough to use all threads.
  const weft::Tensor x = weft::Random(1).normal({64, 256}, 0, 1), w = weft::Random(2).normal({256, 256}, 0, 1);
  for (const float y : weft::matmul(x, w).to_vector<float>()) logits.push_back(y);
  return logits;
}

void memory(const std::string& folder) {
  const auto arena = std::make_shared<Arena>();
  {
    weft::Context context;
    context.memory().set_source(arena);
    const weft::ContextScope scope(context);
    const weft::Checkpoint saved = weft::load_checkpoint(folder);
    const std::vector<float> logits = answer(*saved.model);
    check(arena->in_use >= context.memory().use().current, "tensors are in the host's memory");
    check(arena->in_use >= 4 * 256 * 256, "large tensors are there, too");
    context.memory().trim();
    arena->limit = arena->in_use + 100000;
    std::string refused;
    try {
      (void)answer(*saved.model);
    } catch (const weft::Error& error) {
      refused = error.what();
    }
    check(refused.find("memory") != std::string::npos, "if the host refuses memory, weft throws a weft::Error");
    arena->limit = std::size_t{1} << 40;
    check(answer(*saved.model) == logits, "with enough memory, the bits are the same again");
  }
  check(arena->in_use == 0, "all memory is given back");
}

struct HostError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void exceptions(const weft::Checkpoint& saved) {
  bool caught = false;
  try {
    weft::Context::current().parallel_for(100, 1, [](std::int64_t, std::int64_t) { throw HostError("a piece"); });
  } catch (const HostError& error) {
    caught = error.what() == std::string("a piece");
  }
  check(caught, "the host's exception comes out of a loop");
  caught = false;
  try {
    weft::generate(*saved.model, *saved.tokenizer, "1", {},
                   [](const std::string&) -> bool { throw HostError("a piece"); });
  } catch (const HostError&) {
    caught = true;
  }
  check(caught, "the host's exception comes out of generate");
  caught = false;
  try {
    (void)weft::load_checkpoint("/no such folder");
  } catch (const std::exception& error) {
    caught = dynamic_cast<const weft::Error*>(&error) != nullptr;
  }
  check(caught, "weft's exceptions are weft::Error, and derive from std::exception");
}

// Runs f in a child process. Returns whether f returned true within two minutes.
template <class F>
bool in_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f() ? 0 : 1);
  int status = -1;
  for (int tenths = 0; tenths < 1200 && ::waitpid(child, &status, WNOHANG) == 0; ++tenths) ::usleep(100000);
  if (status == -1) ::kill(child, SIGKILL);
  return status == 0;
}

void forks(const weft::Checkpoint& saved) {
  const std::vector<float> before = answer(*saved.model);
  check(in_child([&] { return answer(*saved.model) == before; }), "a child of fork() gives the same bits");
  check(answer(*saved.model) == before, "its parent still gives the same bits");
  check(in_child([&] {
          weft::Context context;
          context.set_threads(3);
          const weft::ContextScope scope(context);
          return answer(*saved.model) == before && in_child([&] { return answer(*saved.model) == before; });
        }),
        "a new context in a child and the child's own child give the same bits, too");
}

void runs(const std::string& folder) {
  std::vector<std::string> lines;
  weft::Context::current().set_log([&](const std::string& line) { lines.push_back(line); });
  weft::Context::current().set_threads(4);
  const weft::Checkpoint saved = weft::load_checkpoint(folder, weft::Purpose::inference);
  forks(saved);
  exceptions(saved);
  memory(folder);
  check(lines.empty(), "weft logged nothing");
}

// The number of bytes that f writes to the file descriptors 1 and 2. f must not call check(), because check() prints.
template <class F>
off_t printed_by(F f) {
  std::fflush(nullptr);
  std::FILE* file = std::tmpfile();
  const int out = ::dup(1), err = ::dup(2);
  ::dup2(::fileno(file), 1);
  ::dup2(::fileno(file), 2);
  f();
  std::fflush(nullptr);
  ::dup2(out, 1);
  ::dup2(err, 2);
  struct stat status {};
  ::fstat(::fileno(file), &status);
  std::fclose(file);
  return status.st_size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: host CHECKPOINT_FOLDER\n");
    return 2;
  }
  try {
    const off_t printed = printed_by([&] {
      const weft::Checkpoint saved = weft::load_checkpoint(argv[1]);
      (void)answer(*saved.model);
      try {
        (void)weft::load_checkpoint("/no such folder");
      } catch (const weft::Error&) {
      }
    });
    check(printed == 0, "weft prints nothing");
    runs(argv[1]);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "host: %s\n", error.what());
    return 1;
  }
}
