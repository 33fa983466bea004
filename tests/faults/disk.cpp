// Full disks and folders that can't be written. weft throws an Error that names the file, leaves earlier files intact,
// and leaves no temporary file. cli/faults.cpp tests the command.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "child.h"
#include "contains.h"
#include "format_cases.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/checkpoint_format.h"
#include "weft/context.h"
#include "weft/encoded_text.h"
#include "weft/quantize.h"
#include "weft/run_folder.h"

namespace weft::test {
namespace {

// Writes something into a folder. The second call writes it again with different contents.
struct Written {
  std::string name;
  std::function<void(const std::string& folder, bool again)> write;
};

Checkpoint made(const std::string& arch, Task task, const std::string& config, bool again) {
  Checkpoint checkpoint;
  const std::int64_t classes = task_source(task) == Source::rows ? 3 : 0;
  checkpoint.model = make_model({arch, task, 40, classes, config}, Init{Random(3)});
  randomize(checkpoint.model->parameters(), again ? 0.3 : 0.5);
  checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":0})");
  checkpoint.info.step = again ? 9 : 4;
  return checkpoint;
}

void save(const std::string& folder, const Checkpoint& checkpoint) {
  save_checkpoint(folder, *checkpoint.model, *checkpoint.tokenizer, checkpoint.info);
}

void train(const std::string& folder, bool again) {
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  RunOptions run;
  run.folder = folder + "/run";
  run.eval_every = 1;
  Trainer trainer(*small.model, *small.data, small_options(again ? 3 : 2));
  if (again) trainer.load_state(state_path(run.folder));
  trainer.run(run);
}

std::vector<Written> all_written() {
  static const std::string small = R"({"d_model":8,"layers":1})", other = R"({"d_model":12,"layers":1})";
  std::vector<Written> all = {
      {"a checkpoint",
       [](const std::string& folder, bool again) { save(folder, made("gmlp", Task::causal_lm, small, again)); }},
      {"a checkpoint in the place of another model's",
       [](const std::string& folder, bool again) {
         save(folder, made("gmlp", Task::causal_lm, again ? other : small, again));
       }},
      {"a quantized checkpoint",
       [](const std::string& folder, bool again) {
         const Checkpoint checkpoint = made("gmlp", Task::causal_lm, small, again);
         quantize(*checkpoint.model, Quantization::int8);
         save(folder, checkpoint);
       }},
      {"a run", train},
  };
  for (const FormatCase& format : format_cases)
    all.push_back({"a checkpoint in the format " + format.format, [format](const std::string& folder, bool again) {
                     format.save(folder, format.make(again ? 12 : 8, again ? 0.3 : 0.5));
                   }});
  return all;
}

// The contents of every file in the folder and its subfolders, without metrics, because a resumed run cuts them to the
// intact part.
std::map<std::string, std::string> contents(const TemporaryFolder& folder, const std::string& path) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / path)) {
    const std::string name = entry.path().lexically_relative(folder / "").string();
    if (entry.is_regular_file() && entry.path().filename() != "metrics.jsonl" && entry.path().filename() != ".lock")
      all[name] = folder.read(name);
  }
  return all;
}

std::size_t largest(const std::map<std::string, std::string>& files) {
  std::size_t bytes = 0;
  for (const auto& [name, text] : files) bytes = std::max(bytes, text.size());
  return bytes;
}

std::string differs(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  for (const auto& [name, text] : a)
    if (b.count(name) == 0 || b.at(name) != text) return name;
  for (const auto& [name, text] : b)
    if (a.count(name) == 0) return name;
  return "";
}

}  // namespace

// Limits file sizes to several values from 0 to one byte less than the largest file needs.
TEST_CASE("faults: file sizes are limited: an Error names the file, and earlier files are intact") {
  Context context;
  context.set_threads(1);
  const ContextScope scope(context);
  for (const Written& written : all_written()) {
    CAPTURE(written.name);
    const bool is_run = written.name == "a run";
    const TemporaryFolder folder;
    written.write(folder / "probe", false);
    written.write(folder / "probe", true);
    const std::size_t size = largest(contents(folder, "probe"));
    written.write(folder / "out", false);
    const auto before = contents(folder, "out");
    for (const std::size_t limit : {std::size_t{0}, size / 8, size / 2, size - 1}) {
      CAPTURE(limit);
      std::string error;
      {
        const Limit full(RLIMIT_FSIZE, limit);
        error = error_of([&] { written.write(folder / "out", true); });
      }
      CHECK(contains(error, folder / "out"));
      CHECK(contains(error, "File too large"));
      CHECK(temporary_files(folder / "out") == 0);
      if (!is_run) CHECK(differs(contents(folder, "out"), before) == "");
      if (!is_run) continue;
      CHECK(load_checkpoint(folder / "out/run").info.step >=
            2);  // the complete file of this step or of the previous step
      CHECK(load_checkpoint(folder / "out/run/last").info.step >= 2);
    }
    written.write(folder / "out", true);
    CHECK(differs(contents(folder, "out"), contents(folder, "probe")) != "");  // only the names differ
    for (const auto& [name, text] : contents(folder, "out"))
      if (name.find("run.json") == std::string::npos) CHECK(folder.read("probe" + name.substr(3)) == text);
  }
}

// Each file alone would fit on the disk here.
TEST_CASE("faults: a full disk: an Error names the file, and earlier files are intact") {
  for (const Written& written : all_written()) {
    CAPTURE(written.name);
    const TemporaryFolder folder;
    written.write(folder / "probe", false);
    written.write(folder / "probe", true);
    std::size_t size = 0;
    for (const auto& [name, text] : contents(folder, "probe")) size += (text.size() + 4095) / 4096 * 4096;
    std::filesystem::create_directory(folder / "disk");
    WEFT_CHECK_IN_CHILD([&](Findings& findings) {
      if (!mount_small(folder / "disk", 2 * size + 16 * 4096))
        return findings.skip("no file system can be mounted here");
      written.write(folder / "disk/out", false);
      const auto before = contents(folder, "disk/out");
      std::ofstream filler(folder / "disk/filler");
      while (filler << std::string(1024, 'x') && filler.flush()) {
      }
      filler.close();
      const std::size_t filled = std::filesystem::file_size(folder / "disk/filler");
      const bool is_run = written.name == "a run";
      int errors = 0;
      for (std::size_t room = 0;; room += 4096) {  // until there is enough space
        std::filesystem::resize_file(folder / "disk/filler", filled - room);
        const std::string error = error_of([&] { written.write(folder / "disk/out", true); });
        if (error.empty()) break;
        ++errors;
        findings.expect(contains(error, folder / "disk/out"), "the file in \"" + error + "\"");
        findings.expect(contains(error, "No space left on device"), "the reason in \"" + error + "\"");
        findings.expect(temporary_files(folder / "disk") == 0, "no temporary file");
        const std::string name = is_run ? "" : differs(contents(folder, "disk/out"), before);
        findings.expect(name.empty(), name + " as it was, with room for " + std::to_string(room));
        if (is_run)
          findings.expect(load_checkpoint(folder / "disk/out/run/last").info.step >= 2, "a checkpoint of the run");
      }
      findings.expect(errors > 0, "a disk that is full");
      findings.expect(differs(contents(folder, "disk/out"), before) != "", "something new at last");
    });
  }
}

TEST_CASE("faults: a folder that can't be written: an Error names it, and earlier files are intact") {
  for (const Written& written : all_written()) {
    CAPTURE(written.name);
    const TemporaryFolder folder;
    written.write(folder / "out", false);
    const auto before = contents(folder, "out");
    std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
    std::vector<std::string> folders = {folder / "out"};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "out"))
      if (entry.is_directory()) folders.push_back(entry.path().string());
    for (const std::string& each : folders) std::filesystem::permissions(each, std::filesystem::perms(0555));
    WEFT_CHECK_IN_CHILD([&](Findings& findings) {
      if (!without_privileges()) return findings.skip("the user can't be changed");
      const std::string error = error_of([&] { written.write(folder / "out", true); });
      findings.expect(contains(error, folder / "out"), "the folder in \"" + error + "\"");
      findings.expect(contains(error, "Permission denied"), "the reason in \"" + error + "\"");
      const std::string fresh = error_of([&] { written.write(folder / "out/new", false); });
      findings.expect(contains(fresh, folder / "out/new") && contains(fresh, "Permission denied"),
                      "a new folder in \"" + fresh + "\"");
    });
    for (const std::string& each : folders) std::filesystem::permissions(each, std::filesystem::perms(0755));
    CHECK(differs(contents(folder, "out"), before) == "");
    CHECK(temporary_files(folder / "out") == 0);
  }
}

TEST_CASE("faults: a full disk for the ids of a large text: an Error names their file, and no file is left") {
  const TemporaryFolder folder;
  const auto tokenizer = characters(small_text());
  folder.write("text", small_text());
  const auto encode = [&] { return EncodedText::of_file(folder / "text", *tokenizer, folder / "out/tokens.ids", 0); };
  std::filesystem::create_directory(folder / "out");
  for (const std::size_t limit : {0, 100, 1000}) {
    CAPTURE(limit);
    std::string error;
    {
      const Limit full(RLIMIT_FSIZE, limit);
      error = error_of([&] { (void)encode(); });
    }
    CHECK(contains(error, folder / "out/tokens.ids"));
    CHECK(contains(error, "File too large"));
    CHECK(std::filesystem::is_empty(folder / "out"));
  }
  std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
  std::filesystem::permissions(folder / "out", std::filesystem::perms(0555));
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    if (!without_privileges()) return findings.skip("the user can't be changed");
    const std::string error = error_of([&] { (void)encode(); });
    findings.expect(contains(error, folder / "out/tokens.ids") && contains(error, "Permission denied"), error);
  });
  std::filesystem::permissions(folder / "out", std::filesystem::perms(0755));
  const EncodedText written = encode();
  CHECK(written.size() > 0);
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {  // no cache file, and TMPDIR is not a folder
    ::setenv("TMPDIR", (folder / "text").c_str(), 1);
    const std::string error = error_of([&] { (void)EncodedText::of_file(folder / "text", *tokenizer, "", 0); });
    findings.expect(contains(error, folder / "text"), error);
  });
}

}  // namespace weft::test
