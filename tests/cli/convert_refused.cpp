// Tests of weft convert: what it refuses, and which files it leaves unchanged.
#include <doctest/doctest.h>

#include <filesystem>

#include "command.h"
#include "temporary_folder.h"
#include "weft/checkpoint_format.h"

namespace weft::test {
namespace {

void save(const std::string& format, const std::string& folder) {
  Checkpoint made;
  made.model = make_model({"fnet", Task::classifier, 40, 3, R"({"d_model":8,"layers":1})"}, Init{Random(3)});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})");
  (void)save_checkpoint_as(format, folder, made);
}

}  // namespace

TEST_CASE("weft convert: it replaces or removes existing files only with --overwrite") {
  const TemporaryFolder folder;
  save("weft", folder / "in");
  const std::string convert = "convert " + (folder / "in") + " " + (folder / "out");
  for (const std::string file :
       {"spiece.model", "tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"}) {
    CAPTURE(file);
    folder.write("out/" + file, "somebody's");
    CHECK(fails_with(weft(convert + " --to huggingface-fnet"), 1,
                     "already contains a checkpoint, or a part of one (" + file + "): --overwrite replaces it"));
    CHECK(folder.read("out/" + file) == "somebody's");
    std::filesystem::remove_all(folder / "out");
  }
  folder.write("out/spiece.model", "somebody's");  // weft's own format has no such file
  CHECK(weft(convert).code == 0);
  CHECK(folder.read("out/spiece.model") == "somebody's");
  folder.write("out/spiece.model", "somebody's");
  CHECK(weft(convert + " --to huggingface-fnet --overwrite").code == 0);
  CHECK(!std::filesystem::exists(folder / "out/spiece.model"));
}

TEST_CASE("weft convert: a task that differs from the task of IN") {
  const TemporaryFolder folder;
  for (const std::string format : {"weft", "huggingface-fnet"}) {
    save(format, folder / format);
    CHECK(fails_with(weft("convert " + (folder / format) + " " + (folder / "out") + " --task masked-lm"), 1,
                     "has the task classifier, not masked-lm"));
    CHECK(!std::filesystem::exists(folder / "out"));
  }
}

TEST_CASE("weft convert: IN doesn't exist, or has no checkpoint") {
  const TemporaryFolder folder;
  const std::string out = " " + (folder / "out");
  CHECK(fails_with(weft("convert " + (folder / "nothing") + out), 1, "nothing\", doesn't exist"));
  CHECK(fails_with(weft("convert --from labml-gmlp " + (folder / "nothing") + out), 1, "nothing\", doesn't exist"));
  std::filesystem::create_directory(folder / "empty");
  CHECK(fails_with(weft("convert " + (folder / "empty") + out), 1,
                   "empty\" contains no checkpoint: it has neither model.safetensors nor config.json"));
  folder.write("run/run.json", "{}");
  CHECK(fails_with(weft("convert " + (folder / "run") + out), 1, "has not saved a checkpoint yet"));
}

}  // namespace weft::test
