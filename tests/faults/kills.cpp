// Kills a program at random moments while it saves repeatedly. Its checkpoint must be the complete old one or the
// complete new one.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <utility>

#include "child.h"
#include "format_cases.h"
#include "in_memory.h"
#include "op_table.h"
#include "random_parameters.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"

namespace weft::test {
namespace {

bool same_parameters(const Model& one, const Model& other) {
  const NamedParameters a = one.parameters(), b = other.parameters();
  if (one.arch() != std::string(other.arch()) || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i].second.value(), b[i].second.value())) return false;
  return true;
}

// Two models with the same config, and one of another architecture. Its config.json must never appear next to the
// parameters of the others.
std::vector<std::unique_ptr<Model>> three_models(std::int64_t vocabulary) {
  std::vector<std::unique_ptr<Model>> models;
  for (const char* arch : {"gmlp", "gmlp", "tnn"})
    models.push_back(small_model(arch, Task::causal_lm, vocabulary, 0, {8, 8, 1}));
  for (std::size_t i = 0; i < models.size(); ++i) randomize(models[i]->parameters(), 0.1 * static_cast<double>(i + 1));
  return models;
}

// The number of the save that the child is performing, in memory shared with its parent. During a save begun == done +
// 1.
struct Saves {
  std::atomic<std::int64_t> begun{0}, done{0};
};

// Runs child processes that save repeatedly until they are killed.
class Killer {
 public:
  explicit Killer(std::function<void(std::int64_t)> save) : save_(std::move(save)) {
    shared_ = ::mmap(nullptr, sizeof(Saves), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared_ != MAP_FAILED);
    const auto start = std::chrono::steady_clock::now();
    save_(0);
    save_(0);
    two_saves_ = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }
  ~Killer() { ::munmap(shared_, sizeof(Saves)); }
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

  // Returns the numbers of the last save that was complete when the child was killed, and of the last save that had
  // begun.
  std::pair<std::int64_t, std::int64_t> kill_after(std::int64_t last) {
    auto* const saves = new (shared_) Saves;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::int64_t number = last + 1;; ++number) {
        saves->begun = number;
        save_(number);
        saves->done = number;
      }
    }
    // Every second child completes a save first, even if the machine is busy.
    const bool completes = ++kills_ % 2 == 0;
    while (saves->begun == 0 || (completes && saves->done == 0)) ::usleep(50);
    ::usleep(static_cast<useconds_t>(std::uniform_real_distribution<double>(0, two_saves_)(random_)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    return {saves->done == 0 ? last : saves->done.load(), saves->begun.load()};
  }

 private:
  std::function<void(std::int64_t)> save_;
  void* shared_;
  double two_saves_ = 0;  // in microseconds
  int kills_ = 0;
  std::mt19937 random_{1};  // the moments vary from run to run nevertheless, because the duration of a save does
};

}  // namespace

TEST_CASE("faults: killed 200 times while saving, the checkpoint is the complete old one or the complete new one") {
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
  Context context;
  context.set_threads(1);
  const ContextScope scope(context);
  Killer killer(save);
  std::int64_t olds = 0, news = 0, last = 0;
  for (int kills = 0; kills < sweep(200, 40); ++kills) {
    const auto killed = killer.kill_after(last);
    const std::int64_t before = killed.first, now = killed.second;
    CAPTURE(before);
    CAPTURE(now);
    const Checkpoint found = load_checkpoint(path);
    CHECK((found.info.step == before || found.info.step == now));
    CHECK(same_parameters(*found.model, of_save(found.info.step)));
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
}

// Shapes can't distinguish the two configs. If the system can't exchange folders, a folder in which only one of several
// files is replaced may be refused for a moment. But a model is never read with another model's config.
TEST_CASE("faults: killed while saving for other programs, each checkpoint is the complete old or new one") {
  const InMemory temporary;
  Context context;
  context.set_threads(1);
  const ContextScope scope(context);
  for (const FormatCase& format : format_cases) {
    CAPTURE(format.format);
    const TemporaryFolder folder;
    std::vector<Checkpoint> models;
    for (const double range : {0.1, 0.2}) models.push_back(format.make(8, range));
    models.push_back(format.make(8, 0.3, format.other.empty() ? format.config : format.other));
    const auto of_save = [&](std::int64_t number) -> const Checkpoint& {
      return models[static_cast<std::size_t>(number % 3)];
    };
    const auto save = [&](std::int64_t number) { format.save(folder / "saved", of_save(number)); };
    std::vector<Checkpoint> wholes;  // the models as the format reads them
    for (const Checkpoint& model : models) {
      format.save(folder / "whole", model);
      wholes.push_back(format.load(folder / "whole"));
    }
    const auto whole = [&](std::int64_t number) -> const Model& {
      return *wholes[static_cast<std::size_t>(number % 3)].model;
    };
    CHECK((whole(0).config() == whole(1).config() && (whole(0).config() == whole(2).config()) == format.other.empty()));
    Killer killer(save);
    std::int64_t olds = 0, news = 0, refusals = 0, last = 0;
    for (int kills = 0; kills < sweep(60, 10); ++kills) {
      const auto killed = killer.kill_after(last);
      const std::int64_t before = killed.first, now = killed.second;
      CAPTURE(before);
      CAPTURE(now);
      last = now;
      Checkpoint found;
      const std::string error = error_of([&] { found = format.load(folder / "saved"); });
      if (!error.empty()) {
        CHECK_MESSAGE(!format.other.empty(), error);
        CHECK_MESSAGE(error.find(folder / "saved") != std::string::npos, error);
        ++refusals;
        save(last);
        continue;
      }
      const bool is_new = same_parameters(*found.model, whole(now));
      CHECK((is_new || same_parameters(*found.model, whole(before))));
      if (!is_new) last = before;
      CHECK(found.model->config() == whole(last).config());
      (is_new && now != before ? news : olds) += 1;
    }
    MESSAGE(format.format << ": " << olds << " times the one before, " << news << " times the new one, " << refusals
                          << " times refused");
    CHECK(olds > 0);
    os::remove_abandoned_files(folder / "saved");
    CHECK(temporary_files(folder / "saved") == 0);
  }
}

}  // namespace weft::test
