// A program that saves again and again, killed at any moment: its checkpoint is the old one or the new one, whole.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <random>

#include "child.h"
#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"

namespace weft::test {
namespace {

// Two of one config, and one of another architecture, whose config.json must not be seen beside the others' parameters.
std::vector<std::unique_ptr<Model>> three_models(std::int64_t vocabulary) {
  std::vector<std::unique_ptr<Model>> models;
  for (const char* arch : {"gmlp", "gmlp", "tnn"})
    models.push_back(small_model(arch, Task::causal_lm, vocabulary, 0, {8, 8, 1}));
  for (std::size_t i = 0; i < models.size(); ++i) randomize(models[i]->parameters(), 0.1 * static_cast<double>(i + 1));
  return models;
}

bool is_saved(const Checkpoint& found, const Model& model) {
  const NamedParameters a = found.model->parameters(), b = model.parameters();
  if (found.model->arch() != std::string(model.arch()) || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i].second.value(), b[i].second.value())) return false;
  return true;
}

// Folders for temporary files are in memory while in scope, if that can be: syncing a disk takes nearly all of a save, and kills
// should find all of its moments.
class InMemory {
 public:
  InMemory() {
    if (::access("/dev/shm", W_OK | X_OK) != 0) return;
    if (const char* now = std::getenv("TMPDIR")) before_ = now;
    ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~InMemory() {
    if (before_.empty()) ::unsetenv("TMPDIR");
    else ::setenv("TMPDIR", before_.c_str(), 1);
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

 private:
  std::string before_;
};

// Which save the child is in, in memory that it shares with its parent: begun == done + 1 while it is in one.
struct Saves {
  std::atomic<std::int64_t> begun{0}, done{0};
};

}  // namespace

TEST_CASE("faults: killed 200 times while it saves, a checkpoint is the one before or the new one, whole") {
  const InMemory temporary;
  const TemporaryFolder folder;
  const std::string path = folder / "saved";
  const auto tokenizer = characters("abcdefg");
  const auto models = three_models(tokenizer->size());
  const auto of_save = [&](std::int64_t number) -> const Model& {
    return *models[static_cast<std::size_t>(number % 3)];
  };
  const auto save = [&](std::int64_t number) {
    CheckpointInfo info;
    info.step = number;
    save_checkpoint(path, of_save(number), *tokenizer, info);
  };
  void* const shared = ::mmap(nullptr, sizeof(Saves), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  Context context;
  context.set_threads(1);
  const ContextScope scope(context);
  std::mt19937 random(std::random_device{}());
  const auto start = std::chrono::steady_clock::now();
  save(0);
  save(0);
  using Microseconds = std::chrono::duration<double, std::micro>;
  const double two_saves = Microseconds(std::chrono::steady_clock::now() - start).count();
  std::int64_t olds = 0, news = 0, last = 0;
  for (int kills = 0; kills < 200; ++kills) {
    auto* const saves = new (shared) Saves;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::int64_t number = last + 1;; ++number) {
        saves->begun = number;
        save(number);
        saves->done = number;
      }
    }
    while (saves->begun == 0) ::usleep(50);
    ::usleep(static_cast<useconds_t>(std::uniform_real_distribution<double>(0, two_saves)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const std::int64_t before = saves->done == 0 ? last : saves->done.load(), now = saves->begun;
    CAPTURE(before);
    CAPTURE(now);
    const Checkpoint found = load_checkpoint(path);
    CHECK((found.info.step == before || found.info.step == now));
    CHECK(is_saved(found, of_save(found.info.step)));
    (found.info.step == now && now != before ? news : olds) += 1;
    last = found.info.step;
  }
  MESSAGE(olds << " times the one before, " << news << " times the new one, " << last << " saves");
  CHECK(olds > 0);
  CHECK(last > 0);
  save(last + 1);
  CHECK(load_checkpoint(path).info.step == last + 1);
  os::remove_abandoned_files(path);
  CHECK(temporary_files(path) == 0);
  ::munmap(shared, sizeof(Saves));
}

}  // namespace weft::test
