// Tests of the operating system's services that run on every system. Those that need POSIX are in os.cpp and locks.cpp.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "system/futex.h"
#include "temporary_folder.h"
#include "weft/detail/folder_turn.h"
#include "weft/error.h"
#include "weft/os.h"

namespace {

using weft::os::AtomicFile;

void replace(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

std::string mapped_text(const weft::os::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data), static_cast<std::size_t>(file.size)};
}

}  // namespace

TEST_CASE("files: a file is replaced while it is mapped, open or read, and each reader keeps what it opened") {
  const TemporaryFolder folder;
  const std::string path = folder / "a", old(100000, 'o');
  replace(path, old);
  {
    const weft::os::MappedFile mapped = weft::os::map_file(path);
    const weft::os::RandomAccessFile open(path);
    replace(path, "new");
    CHECK(weft::os::read_file(path) == "new");
    CHECK(mapped_text(mapped) == old);
    weft::os::forget_pages(mapped.data, mapped.size);
    CHECK(mapped_text(mapped) == old);
    std::string end(10, ' ');
    open.read(old.size() - 10, end.data(), 10);
    CHECK(end == std::string(10, 'o'));
    CHECK_THROWS_WITH_AS(open.read(old.size() - 5, end.data(), 10), doctest::Contains("truncated"), weft::Error);
  }
  weft::os::remove_abandoned_files(folder / "");  // the old file, on systems that can't replace a mapped file
  CHECK(folder.files() == 1);
}

TEST_CASE("files: names beyond ASCII, and paths longer than 260 characters") {
  const TemporaryFolder folder;
  replace(folder / "Grüße, 世界.txt", "text");
  CHECK(weft::os::read_file(folder / "Grüße, 世界.txt") == "text");
  const std::string path = folder / std::string(240, 'n');  // a name of at most 255 characters
  REQUIRE(path.size() > 260);
  replace(path, "long");
  CHECK(weft::os::map_file(path).size == 4);
  CHECK(weft::os::read_file(path) == "long");
}

TEST_CASE("files: an atomic file appears as a whole, at commit, and several writers do not affect each other" *
          doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  replace(folder / "a", "first");
  {
    AtomicFile file(folder / "a");
    file.write("second", 6);
    CHECK(folder.read("a") == "first");
    CHECK(folder.files() == 2);
  }
  CHECK(folder.files() == 1);
  CHECK(folder.read("a") == "first");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i) replace(folder / "a", std::string(1000, static_cast<char>('a' + t)));
    });
  for (std::thread& thread : threads) thread.join();
  const std::string text = folder.read("a");
  CHECK(text == std::string(1000, text.at(0)));
  weft::os::remove_abandoned_files(folder / "");
  CHECK(folder.files() == 1);
}

TEST_CASE("files: append creates a file and adds lines to it") {
  const TemporaryFolder folder;
  weft::os::append(folder / "log", "one\n");
  weft::os::append(folder / "log", "two\n");
  CHECK(weft::os::read_file(folder / "log") == "one\ntwo\n");
  CHECK_THROWS_WITH_AS(weft::os::append(folder / "missing/log", "x"), doctest::Contains("missing/log"), weft::Error);
}

TEST_CASE("files: errors name the file and the reason") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder / "missing", folder / "", std::string()}) {
    CAPTURE(path);
    CHECK_THROWS_AS(weft::os::read_file(path), weft::Error);
    CHECK_THROWS_AS(weft::os::map_file(path), weft::Error);
    CHECK_THROWS_AS(weft::os::RandomAccessFile{path}, weft::Error);
  }
  CHECK_THROWS_WITH_AS(weft::os::read_file(folder / "missing"), doctest::Contains("missing"), weft::Error);
  CHECK_THROWS_WITH_AS(AtomicFile(folder / "missing/a"), doctest::Contains("missing/a"), weft::Error);
  CHECK_THROWS_AS(AtomicFile(""), weft::Error);
}

TEST_CASE("files: a temporary file has no name that remains, and is read at any offset") {
  const TemporaryFolder folder;
  {
    weft::os::TemporaryFile file(folder / "");
    file.write("0123456789", 10);
    file.write("abc", 3);
    const auto finished = file.finished();
    CHECK(finished->size() == 13);
    std::string part(4, ' ');
    finished->read(8, part.data(), 4);
    CHECK(part == "89ab");
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("files: a folder is locked once at a time, and the error names the process") {
  const TemporaryFolder folder;
  auto lock = std::make_unique<weft::os::FolderLock>(folder / "");
  CHECK_THROWS_WITH_AS(weft::os::FolderLock(folder / ""), doctest::Contains("is in use by process "), weft::Error);
  CHECK(folder.read(".lock").rfind("process ", 0) == 0);
  lock.reset();
  CHECK(folder.read(".lock").empty());
  folder.write(".lock", "of somebody else");
  { const weft::os::FolderLock again(folder / ""); }
  CHECK(folder.read(".lock") == "of somebody else");
}

TEST_CASE("files: one thread at a time has a folder's turn" * doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  std::atomic<int> inside{0}, most{0}, turns{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const weft::os::FolderTurn turn(folder / "");
        const int now = ++inside;
        if (now > most) most = now;
        ++turns;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(turns == 40);
  CHECK(folder.files() == 0);
}

TEST_CASE("files: abandoned temporary files are removed, those in use and other files are kept") {
  const TemporaryFolder folder;
  folder.write(".weft-1-0.tmp", "x");
  folder.write(".weft-1-0.tmpx", "x");
  folder.write(".weft-.tmp", "x");  // not a name that weft gives
  folder.write("model.safetensors", "x");
  AtomicFile open(folder / "a");
  open.write("b", 1);
  weft::os::remove_abandoned_files(folder / "");
  CHECK_FALSE(std::filesystem::exists(folder / ".weft-1-0.tmp"));
  CHECK(std::filesystem::exists(folder / ".weft-1-0.tmpx"));
  CHECK(std::filesystem::exists(folder / ".weft-.tmp"));
  CHECK(std::filesystem::exists(folder / "model.safetensors"));
  open.commit();
  CHECK(folder.read("a") == "b");
}

#ifdef _WIN32
TEST_CASE(
    "files: a file that was moved aside when its process was killed is moved back, or removed if it was replaced") {
  const TemporaryFolder folder;
  folder.write("a.weft-old", "old");
  folder.write("b.weft-old", "old");
  folder.write("b", "new");
  weft::os::remove_abandoned_files(folder / "");
  CHECK(folder.read("a") == "old");
  CHECK(folder.read("b") == "new");
  CHECK(folder.files() == 2);
}
#endif

TEST_CASE("files: the machine has memory and CPUs, and mapped pages can be written") {
  CHECK(weft::os::available_threads() >= 1);
  CHECK(weft::os::available_threads(1000) >= 1);
  CHECK(weft::os::second_cache() >= 1 << 14);
  CHECK(weft::os::physical_memory() > std::uint64_t{64} << 20);
  CHECK(weft::os::peak_resident_memory() > 1 << 20);
  for (const std::string& file : weft::os::program_files()) CHECK(std::filesystem::exists(file));
  const std::size_t bytes = weft::os::huge_page + 5000;
  auto* block = static_cast<unsigned char*>(weft::os::map_pages(bytes));
  REQUIRE(block != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % weft::os::huge_page == 0);
  block[0] = 1;
  block[bytes - 1] = 2;
  CHECK(block[0] + block[bytes - 1] + block[bytes / 2] == 3);
  weft::os::unmap_pages(block, bytes);
  CHECK(weft::os::map_pages(SIZE_MAX) == nullptr);
}

TEST_CASE("files: a thread sleeps until it is woken" * doctest::test_suite("threads")) {
  std::atomic<std::uint32_t> word{0};
  std::thread sleeper([&] {
    while (word.load() == 0) weft::os::sleep_while(word, 0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // now it sleeps
  word.store(1);
  weft::os::wake(word);
  sleeper.join();
  weft::os::sleep_while(word, 0);  // returns at once, because the word has changed
}
