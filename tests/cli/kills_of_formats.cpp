// Kills weft convert while it replaces a checkpoint. The folder must be the complete old one or the complete new one.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "command.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "weft/checkpoint_format.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

Files files_in(const TemporaryFolder& folder, const std::string& name) {
  Files all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / name)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind(".weft-", 0) != 0) all[file] = folder.read(name + "/" + file);
  }
  return all;
}

Checkpoint made(const std::string& arch, Task task, const std::string& config, double values) {
  Checkpoint checkpoint;
  checkpoint.model = make_model({arch, task, 40, task == Task::classifier ? 3 : 0, config}, Init{Random(3)});
  randomize(checkpoint.model->parameters(), values);
  checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":0})");
  return checkpoint;
}

// An old and a new checkpoint, each with its format.
struct Replaced {
  const char *name, *old_format, *new_format, *arch;
  Task task;
  const char *old_config, *new_config;
};

const Replaced replacements[] = {
    {"weft's over Hugging Face's", "huggingface-fnet", "weft", "fnet", Task::classifier, R"({"d_model":8,"layers":1})",
     R"({"d_model":8,"layers":1})"},
    {"Hugging Face's over another", "huggingface-fnet", "huggingface-fnet", "fnet", Task::classifier,
     R"({"d_model":8,"layers":1})", R"({"d_model":8,"layers":1,"activation":"relu"})"},
    {"Hugging Face's over weft's", "weft", "huggingface-fnet", "fnet", Task::classifier, R"({"d_model":8,"layers":1})",
     R"({"d_model":8,"layers":1})"},
    {"tnn-pytorch's over another", "tnn-pytorch", "tnn-pytorch", "tnn", Task::causal_lm,
     R"({"d_model":8,"layers":1,"act":"gelu"})", R"({"d_model":8,"layers":1,"act":"relu"})"},
};

std::string extension(const fs::path& path) { return path.filename().string().substr(0, 6); }

}  // namespace

TEST_CASE("weft convert: killed at any change to a file, it leaves the old folder or the new one") {
  if (!can_kill_at()) return;
  for (const Replaced& replaced : replacements) {
    CAPTURE(replaced.name);
    const TemporaryFolder folder;
    const auto save = [&](const char* format, const std::string& to, const char* config, double values) {
      (void)save_checkpoint_as(format, folder / to, made(replaced.arch, replaced.task, config, values));
    };
    save(replaced.old_format, "old", replaced.old_config, 0.3);
    folder.write("old/notes.txt", "somebody's own");
    save("weft", "in", replaced.new_config, 0.5);
    const std::string convert = "convert " + (folder / "in") + " --to " + replaced.new_format + " --overwrite ";
    fs::copy(folder / "old", folder / "new");
    REQUIRE(weft(convert + (folder / "new")).code == 0);
    const Files old = files_in(folder, "old"), whole = files_in(folder, "new");
    REQUIRE(old != whole);
    CHECK(whole.at("notes.txt") == "somebody's own");
    long olds = 0, news = 0;
    bool killed = true;
    for (long n = 1; killed; ++n) {
      CAPTURE(n);
      folder.remove("out");
      fs::copy(folder / "old", folder / "out");
      killed = killed_at(n, convert + (folder / "out"));
      const Files found = files_in(folder, "out");
      CHECK((found == old || found == whole));
      (found == old ? olds : news) += 1;
    }
    CHECK(olds > 4);
    CHECK(news > 1);
    // The last command was not killed. It removed what the killed commands had left behind.
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / ""))
      CHECK_MESSAGE(extension(entry.path()) != ".weft-", entry.path().string());
  }
}

TEST_CASE("weft convert: a folder that contains more than files is the old one, the new one, or refused") {
  if (!can_kill_at()) return;
  for (const Replaced& replaced : replacements) {
    CAPTURE(replaced.name);
    const TemporaryFolder folder;
    const auto save = [&](const char* format, const std::string& to, const char* config, double values) {
      (void)save_checkpoint_as(format, folder / to, made(replaced.arch, replaced.task, config, values));
    };
    save(replaced.old_format, "old", replaced.old_config, 0.3);
    fs::create_directory(folder / "old/more");
    save("weft", "in", replaced.new_config, 0.5);
    const std::string convert = "convert " + (folder / "in") + " --to " + replaced.new_format + " --overwrite ";
    fs::copy(folder / "old", folder / "new", fs::copy_options::recursive);
    REQUIRE(weft(convert + (folder / "new")).code == 0);
    const std::string format = std::string(replaced.old_format) == "weft" ? "huggingface-fnet" : replaced.old_format;
    const auto description = [&](const std::string& name) -> std::string {
      try {
        const Checkpoint found = find_checkpoint_format(folder / name).empty()
                                     ? load_checkpoint_as(format, folder / name)
                                     : load_checkpoint(folder / name);
        std::string text = model_description(*found.model, *found.tokenizer);
        for (const auto& [parameter, value] : found.model->parameters())
          for (const float x : value.value().to_vector<float>()) text += std::to_string(x) + " ";
        return text;
      } catch (const Error&) {
        return "";
      }
    };
    const std::string old = description("old"), whole = description("new");
    REQUIRE(!old.empty());
    REQUIRE(!whole.empty());
    REQUIRE(old != whole);
    bool killed = true;
    for (long n = 1; killed; ++n) {
      CAPTURE(n);
      folder.remove("out");
      fs::copy(folder / "old", folder / "out", fs::copy_options::recursive);
      killed = killed_at(n, convert + (folder / "out"));
      const std::string found = description("out");
      CHECK((found.empty() || found == old || found == whole));
      if (!killed) CHECK(found == whole);
    }
  }
}

TEST_CASE("weft convert: an obstacle in place of one of its files is found before anything is removed") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out",
                           made("fnet", Task::classifier, R"({"d_model":8,"layers":1})", 0.3));
  (void)save_checkpoint_as("weft", folder / "in", made("fnet", Task::classifier, R"({"d_model":8,"layers":1})", 0.5));
  folder.write("out/spiece.model", "pieces");
  folder.write("out/tokenizer_config.json/file", "text");
  const std::string config = folder.read("out/config.json");
  CHECK(fails_with(weft("convert " + (folder / "in") + " " + (folder / "out") + " --to huggingface-fnet --overwrite"),
                   1, "tokenizer_config.json\": not a regular file"));
  CHECK(folder.read("out/config.json") == config);
  CHECK(folder.read("out/spiece.model") == "pieces");
  CHECK(folder.read("out/tokenizer_config.json/file") == "text");
}

}  // namespace weft::test
