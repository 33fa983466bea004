// A run that is killed at any moment and then resumed must end like a run that never stopped.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <random>
#include <sstream>

#include "command.h"
#include "in_memory.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/checkpoint.h"
#include "weft/quantize.h"

namespace weft::test {
namespace {

// Returns everything that a run leaves behind. Times are removed from the metrics.
std::string left_in(const TemporaryFolder& folder, const std::string& run) {
  std::string all;
  for (const char* file : {"/last/model.safetensors", "/last/training.safetensors", "/last/config.json",
                           "/best/model.safetensors", "/best/config.json"})
    all += folder.read(run + file) + "\n";
  std::istringstream metrics(folder.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) all += line.substr(0, line.find(",\"tokens_per_second")) + "\n";
  for (const char* name : {"/replaced", "/.replacing"})
    if (std::filesystem::exists(folder / (run + name))) all += name;
  return all;
}

struct Kills {
  Kills() { folder.write("text", small_text()); }
  std::string train(const std::string& run, const std::string& more) const {
    return "train --arch gmlp --threads 1 --text " + (folder / "text") + sizes + more + " --out " + (folder / run);
  }
  InMemory temporary;
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Kills, "killed at any change to a file: after resuming, the run ends like one that never stopped") {
  if (!can_kill_at()) return;
  const std::string options = "--steps 3 --eval-every 2 --dropout 0.1";
  REQUIRE(weft(train("whole", options)).code == 0);
  const std::string whole = left_in(folder, "whole");
  long n = 1;
  for (; killed_at(n, train("run", options)); ++n) {
    CAPTURE(n);
    Outcome resumed = weft("train --resume " + (folder / "run"));
    if (contains(resumed.err, "there is no run")) resumed = weft(train("run", options));
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(left_in(folder, "run") == whole);
    folder.remove("run");
  }
  CHECK(n > 50);
}

TEST_CASE_FIXTURE(Kills, "killed while replacing another run: one run always loads, and its files belong together") {
  if (!can_kill_at()) return;
  REQUIRE(weft("train --arch fnet --text " + (folder / "text") + sizes + "--steps 2 --out " + (folder / "old")).code ==
          0);
  const std::string options = "--steps 3 --eval-every 2";
  REQUIRE(weft(train("new", options)).code == 0);
  const std::string old = left_in(folder, "old"), whole = left_in(folder, "new");
  const auto copy = std::filesystem::copy_options::recursive;
  std::filesystem::copy(folder / "old", folder / "run", copy);
  long n = 1, olds = 0;
  for (; killed_at(n, train("run", options + " --overwrite")); ++n) {
    CAPTURE(n);
    const std::string arch = load_checkpoint(folder / "run").model->arch();
    const Outcome resumed = weft("train --resume " + (folder / "run"));
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    const bool is_old = contains(resumed.err, "nothing to do") && left_in(folder, "run") == old;
    olds += is_old;
    if (is_old) CHECK(arch == "fnet");
    else CHECK(left_in(folder, "run") == whole);
    folder.remove("run");
    std::filesystem::copy(folder / "old", folder / "run", copy);
  }
  CHECK(n > 50);
  CHECK(olds > 5);
  CHECK(olds < n / 2);
}

TEST_CASE_FIXTURE(Kills,
                  "killed while weft quantize replaces a checkpoint: there is one that loads, the old or the new") {
  if (!can_kill_at()) return;
  REQUIRE(weft(train("run", "--steps 2")).code == 0);
  const auto quantize = [&](const std::string& to, const std::string& out) {
    return "quantize " + (folder / "run") + " --threads 1 --to " + to + " --overwrite --out " + (folder / out);
  };
  REQUIRE(weft(quantize("bf16", "old")).code == 0);
  REQUIRE(weft(quantize("int8", "new")).code == 0);
  long n = 1, olds = 0, news = 0;
  for (bool killed = true; killed; ++n) {
    CAPTURE(n);
    folder.remove("out");
    std::filesystem::copy(folder / "old", folder / "out");
    killed = killed_at(n, quantize("int8", "out"));
    const Checkpoint found = load_checkpoint(folder / "out", Purpose::inference);
    const bool is_old = quantized_to(found.model->parameters()) == Quantization::bf16;
    (is_old ? olds : news) += 1;
    const std::string tensors = "/model.safetensors";
    CHECK(folder.read("out" + tensors) == folder.read((is_old ? "old" : "new") + tensors));
  }
  CHECK(olds > 1);
  CHECK(news >= 1);
}

TEST_CASE_FIXTURE(Kills, "killed or stopped 20 times at random and resumed each time: the same bits") {
  const std::string options = "--steps 1200 --eval-every 70 --dropout 0.1";
  REQUIRE(weft(train("whole", options)).code == 0);
  const unsigned seed = std::random_device{}();
  MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  int stops = 0;
  const std::string resume = "train --resume " + (folder / "run");
  for (std::string next = train("run", options); stops < 20; ++stops) {
    const int signals[] = {SIGKILL, SIGKILL, SIGINT, SIGTERM};
    const Outcome outcome = weft_killed_after(next, static_cast<int>(random() % 60), signals[random() % 4]);
    CAPTURE(outcome.err);
    CHECK(outcome.code != 1);
    if (outcome.code == 0) break;
    if (std::filesystem::exists(folder / "run/run.json")) next = resume;
  }
  MESSAGE(stops << " stops");
  const Outcome last = weft(std::filesystem::exists(folder / "run/run.json") ? resume : train("run", options));
  CAPTURE(last.err);
  CHECK(last.code == 0);
  CHECK(left_in(folder, "run") == left_in(folder, "whole"));
}

}  // namespace weft::test
