// Several concurrent writers of one folder. At the end the folder has the files of one of them and no temporary file.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "child.h"
#include "format_cases.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/detail/folder_turn.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

struct Writer {
  std::string name;
  std::function<void(const std::string& folder, std::int64_t d_model)> save;
};

std::vector<Writer> writers() {
  std::vector<Writer> all = {{"weft", [](const std::string& folder, std::int64_t d_model) {
                                const Checkpoint made = format_cases[1].make(d_model, 0.5);
                                save_checkpoint(folder, *made.model, *made.tokenizer);
                              }}};
  for (const FormatCase& format : format_cases)
    all.push_back({format.format, [format](const std::string& folder, std::int64_t d_model) {
                     format.save(folder, format.make(d_model, 0.5));
                   }});
  return all;
}

}  // namespace

TEST_CASE("faults: saving a checkpoint waits for another save into the same folder, but not into others") {
  for (const Writer& writer : writers()) {
    CAPTURE(writer.name);
    const TemporaryFolder folder;
    writer.save(folder / "out", 8);
    std::future<void> other;
    {
      const os::FolderTurn turn(folder / "out");
      writer.save(folder / "elsewhere", 8);
      other = std::async(std::launch::async, [&] { writer.save(folder / "out", 12); });
      CHECK(other.wait_for(200ms) == std::future_status::timeout);
    }
    other.get();
    CHECK(temporary_files(folder / "") == 0);
  }
}

TEST_CASE("faults: several writers of different models into one folder leave one model that loads") {
  for (int round = 0; round < sweep(10, 2); ++round) {
    const TemporaryFolder folder;
    const auto saves = [&](std::int64_t d_model) {
      for (int i = 0; i < 10; ++i)
        for (const Writer& writer : writers())
          if (writer.name == "weft" || writer.name == "huggingface-fnet") writer.save(folder / "out", d_model);
    };
    std::vector<std::future<void>> all;
    for (const std::int64_t d_model : {8, 12, 16, 20}) all.push_back(std::async(std::launch::async, saves, d_model));
    for (std::future<void>& saved : all) CHECK_NOTHROW(saved.get());
    CHECK_NOTHROW((void)load_checkpoint(folder / "out"));
    CHECK(temporary_files(folder / "") == 0);
  }
}

// While a thread waits for the old folder, the name moves to a new folder (see NewFolder).
TEST_CASE("faults: a turn belongs to the folder that has the name at that time") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "out");
  std::future<void> waiting;
  std::atomic<bool> has{false};
  std::optional<os::FolderTurn> newer;
  {
    const os::FolderTurn turn(folder / "out");
    waiting = std::async(std::launch::async, [&] {
      const os::FolderTurn mine(folder / "out");
      has = true;
    });
    std::this_thread::sleep_for(50ms);
    std::filesystem::rename(folder / "out", folder / "old");
    std::filesystem::create_directories(folder / "out");
    newer.emplace(folder / "out");
  }
  CHECK(waiting.wait_for(200ms) == std::future_status::timeout);
  CHECK(!has);
  newer.reset();
  waiting.get();
  CHECK(temporary_files(folder / "out") == 0);
}

TEST_CASE("faults: a folder in which no file can be created has no turns, so no writer waits") {
  const TemporaryFolder folder;
  const os::FolderTurn none(folder / "missing"), other(folder / "missing");
  std::filesystem::create_directories(folder / "out/.weft-turn.tmp");
  const os::FolderTurn of_a_folder(folder / "out"), again(folder / "out");
  CHECK(std::filesystem::is_directory(folder / "out/.weft-turn.tmp"));
}

}  // namespace weft::test
