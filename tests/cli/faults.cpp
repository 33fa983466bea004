// Tests of the command when the disk is full, the folder is not writable, or memory or threads are missing. The command
// prints a line that says so, exits with code 1, and leaves earlier files intact.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <functional>
#include <map>
#include <thread>

#include "child.h"
#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

// A run, files that were made from it, and commands that make these files again.
struct Faults {
  Faults() {
    folder.write("text", small_text());
    std::string words;
    for (int i = 0; i < 200; ++i) words += "w" + std::to_string(i) + " ";
    folder.write("other", words + words);
    REQUIRE(weft("train --arch gmlp --threads 1 --steps 2 --text " + (folder / "text") +
                 " --layers 1 --d-model 16 --seq-len 8 "
                 "--batch 4 --out " +
                 (folder / "run"))
                .code == 0);
    for (const auto& [out, command] : commands("")) REQUIRE(weft(command).code == 0);
  }
  // Files, and the command that writes each. No file belongs to two commands.
  std::map<std::string, std::string> commands(const std::string& more) const {
    const std::string run = folder / "run", text = more.empty() ? "text" : "other";
    return {{"quantized", "quantize " + run + " --threads 1 --to int8 --out " + (folder / "quantized") + more},
            {"converted", "convert " + run + "/best " + (folder / "converted") + " --to labml-gmlp" + more},
            {"symbols", "tokenizer train " + (folder / text) + " --kind words --out " + (folder / "symbols")},
            {"page", "report " + run + " --threads 1 --out " + (folder / "page") + more}};
  }
  std::map<std::string, std::string> contents(const std::string& path = "") const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / path)) {
      const std::string name = entry.path().lexically_relative(folder / "").string();
      if (entry.is_regular_file()) all[name] = folder.read(name);
    }
    return all;
  }
  TemporaryFolder folder;
};

std::string shown(const Outcome& outcome) {
  return "exit code " + std::to_string(outcome.code) + ", " + outcome.out.substr(0, 200) + outcome.err.substr(0, 500);
}

bool one_line(const std::string& err) { return err.rfind("weft: ", 0) == 0 && err.find('\n') == err.size() - 1; }

}  // namespace

TEST_CASE_FIXTURE(Faults, "file sizes are limited: quantize, convert, tokenizer and report leave the old file") {
  const auto before = contents();
  for (const auto& each : commands(" --overwrite")) {
    const std::string &out = each.first, &command = each.second;
    CAPTURE(command);
    Outcome outcome;
    {
      const Limit full(RLIMIT_FSIZE, 1024);  // more than the output, and enough for a file that LLVM's OpenMP writes
      outcome = weft(command);
    }
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(one_line(outcome.err));
    CHECK(contains(outcome.err, folder / out));
    CHECK(contains(outcome.err, "File too large"));
    CHECK(contents() == before);
  }
}

TEST_CASE_FIXTURE(Faults,
                  "a disk that is full: every command leaves what was there, a new folder has no temporary file") {
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    const TemporaryFolder output;  // in a different folder
    ::setenv("TMPDIR", (output / "").c_str(), 1);
    const auto before = contents();
    std::filesystem::create_directory(output / "disk");
    if (!mount_small(output / "disk", 1024 * 4096)) return findings.skip("no file system can be mounted here");
    const auto copy = std::filesystem::copy_options::recursive;
    for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
      std::filesystem::copy(entry.path(), (output / "disk/") + entry.path().filename().string(), copy);
    std::ofstream filler(output / "disk/filler");
    while (filler << std::string(1024, 'x') && filler.flush()) {
    }
    filler.close();
    const auto old = contents();
    for (auto [out, command] : commands(" --overwrite")) {
      for (std::size_t at = 0; (at = command.find(folder / "", at)) != std::string::npos;)
        command.replace(at, (folder / "").size(), output / "disk/");
      const Outcome outcome = weft(command);
      findings.expect(outcome.code == 1 && one_line(outcome.err), command + ": " + shown(outcome));
      findings.expect(contains(outcome.err, (output / "disk/") + out), "a name: " + outcome.err);
      findings.expect(contains(outcome.err, "No space left on device"), outcome.err);
      findings.expect(temporary_files(output / "disk") == 0, "no temporary file by " + command);
    }
    for (const auto& [name, text] : before) findings.expect(output.read("disk/" + name) == text, name + " as it was");
    const Outcome outcome =
        weft("train --arch gmlp --steps 2 --text " + (folder / "text") + sizes + "--out " + (output / "disk/new"));
    findings.expect(outcome.code == 1, shown(outcome));
    findings.expect(contains(outcome.err, output / "disk/new"), outcome.err);
    findings.expect(temporary_files(output / "disk") == 0, "no temporary file by train");
  });
}

TEST_CASE_FIXTURE(Faults, "folders that can't be written give a line that names the file") {
  const auto before = contents();
  std::vector<std::string> folders = {folder / ""};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / ""))
    if (entry.is_directory()) folders.push_back(entry.path().string());
  for (const std::string& each : folders) std::filesystem::permissions(each, std::filesystem::perms(0555));
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    if (!without_privileges()) return findings.skip("the user can't be changed");
    if (::access(std::getenv("WEFT"), X_OK) != 0) return findings.skip("another user can't run what was built");
    auto all = commands(" --overwrite");
    all["run"] = "train --steps 9 --resume " + (folder / "run");
    all["new"] = "train --arch gmlp --text " + (folder / "text") + sizes + "--out " + (folder / "new");
    for (const auto& [out, command] : all) {
      const Outcome outcome = weft(command);
      findings.expect(outcome.code == 1, command + ": " + shown(outcome));
      findings.expect(contains(outcome.err, folder / out), "a name: " + outcome.err);
      findings.expect(contains(outcome.err, "Permission denied"), outcome.err);
    }
    const Outcome asked = weft("generate " + (folder / "run") + " --tokens 5");  // writes no file
    findings.expect(asked.code == 0, shown(asked));
  });
  for (const std::string& each : folders) std::filesystem::permissions(each, std::filesystem::perms(0755));
  CHECK(contents() == before);
}

// Output to a full disk is lost, so the command must exit with an error.
TEST_CASE_FIXTURE(Faults, "standard output on a full disk") {
  for (const char* command : {"generate ", "info ", "fill-mask "}) {
    const Outcome outcome =
        weft(command + (folder / "run") + (command == std::string("generate ") ? " --tokens 5" : "") + " >/dev/full");
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
  }
}

// Sanitizers use terabytes of address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE_FIXTURE(Faults, "little memory gives a line about memory and exit code 1") {
  const std::string big =
      "train --arch gmlp --layers 4 --d-model 256 --seq-len 64 --batch 8 --steps 1 --threads 1 --text " +
      (folder / "text") + " --out " + (folder / "big");
  REQUIRE(weft(big).code == 0);
  const std::vector<std::string> commands = {"generate " + (folder / "big") + " --threads 1 --tokens 3",
                                             "generate " + (folder / "big") + " --threads 1 --tokens 3 --copy",
                                             "eval " + (folder / "big") + " --threads 1 --text " + (folder / "text"),
                                             big + " --overwrite"};
  const auto starts = [&](std::size_t in) {
    const Limit little(RLIMIT_AS, in);
    return weft("--version").code == 0;
  };
  std::size_t least = 4 * megabyte;  // enough for the shell
  while (!starts(least)) least += megabyte;
  for (const std::string& command : commands) {
    CAPTURE(command);
    int errors = 0;
    for (const std::size_t room : {0, 2, 5, 9, 400}) {
      CAPTURE(room);
      Outcome outcome;
      {
        const Limit little(RLIMIT_AS, least + room * megabyte);
        outcome = weft(command);
      }
      CAPTURE(outcome.err);
      CHECK((outcome.code == 0 || outcome.code == 1));
      if (outcome.code == 1) CHECK((contains(outcome.err, "memory") || contains(outcome.err, "allocate")));
      errors += outcome.code;
      if (room == 400) CHECK(outcome.code == 0);
    }
    CHECK(errors > 0);
  }
}
#endif

TEST_CASE_FIXTURE(Faults, "--copy: results don't change while the file is truncated") {
  const std::string generate = "generate " + (folder / "run") + " --threads 1 --tokens 8 --temperature 0";
  const Outcome mapped = weft(generate), copied = weft(generate + " --copy");
  REQUIRE(mapped.code == 0);
  CHECK(copied.out == mapped.out);
  const std::string eval = "eval " + (folder / "run") + " --threads 1 --text " + (folder / "text");
  CHECK(number_after(weft(eval + " --copy").out, "test loss ") == number_after(weft(eval).out, "test loss "));

  folder.write("rows.csv", small_csv());
  const std::string classifier = folder / "classifier", model = classifier + "/best/model.safetensors";
  REQUIRE(
      weft("train --arch fnet --threads 1 --steps 2 --data " + (folder / "rows.csv") + sizes + "--out " + classifier)
          .code == 0);
  // The second line is sent after the file is truncated.
  const std::string lines = "--threads 1 - <" + (folder / "pipe");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string want = weft("classify " + classifier + " --threads 1 " + (folder / "text")).out;
  const std::string first = want.substr(0, want.find('\n') + 1);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  std::thread writer([&] {
    std::ofstream pipe(folder / "pipe");
    const std::string text = folder.read("text");
    pipe << text.substr(0, text.find('\n') + 1) << std::flush;
    for (int i = 0; i < 20000 && folder.read("answers").find(first) == std::string::npos; ++i) ::usleep(5000);
    std::filesystem::resize_file(model, 0);
    pipe << text.substr(text.find('\n') + 1);
  });
  const Outcome answered = weft("classify " + classifier + " --copy " + lines + " >" + (folder / "answers"));
  writer.join();
  ::signal(SIGPIPE, before);
  CAPTURE(answered.err);
  CHECK(answered.code == 0);
  CHECK(folder.read("answers") == want);
}

#ifdef WEFT_THREADS_pool
TEST_CASE_FIXTURE(Faults, "if the system refuses threads, fewer threads run and a line says so") {
  std::filesystem::permissions(folder / "", std::filesystem::perms(0777));
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    if (!without_privileges()) return findings.skip("the user can't be changed");
    if (::access(std::getenv("WEFT"), X_OK) != 0) return findings.skip("another user can't run what was built");
    const std::string generate = "generate " + (folder / "run") + " --tokens 8 --temperature 0 --threads ";
    const Outcome one = weft(generate + "1");
    const Limit none(RLIMIT_NPROC, 2);  // this process, and the shell that becomes weft
    if (weft("--version").code != 0) return findings.skip("the user has other processes");
    const Outcome four = weft(generate + "4");
    findings.expect(four.code == 0 && four.out == one.out, shown(four));
    findings.expect(contains(four.err, "weft: [threads] weft uses 1 instead of 4 threads"), four.err);
  });
}
#endif

}  // namespace weft::test
