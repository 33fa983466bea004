// A run's folder: what may happen to it, and what doesn't harm it.
#include <doctest/doctest.h>
#include <signal.h>

#include "../temporary_folder.h"
#include "../train_support.h"
#include "command.h"
#include "weft/os.h"

namespace weft::test {
namespace {

const std::string sizes = " --layers 1 --d-model 8 --seq-len 8 --batch 4 ";

struct Runs {
  Runs() { folder.write("text", small_text()); }
  std::string train(const std::string& out, const std::string& more) const {
    return "train --arch gmlp --text " + (folder / "text") + sizes + more + " --out " + (folder / out);
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Runs, "two runs into one folder: the second is refused and changes nothing") {
  REQUIRE(weft(train("run", "--steps 3")).code == 0);
  const std::string model = folder.read("run/model.safetensors");
  {
    const os::FolderLock other(folder / "run");
    for (const std::string more : {" --overwrite", " --resume"})
      CHECK(fails_with(weft(train("run", "--steps 5") + more), 1, "is in use: process "));
    CHECK(folder.read("run/model.safetensors") == model);
  }
  CHECK(weft(train("run", "--steps 5") + " --overwrite").code == 0);
}

TEST_CASE_FIXTURE(Runs, "the state of a new run beside another run's model: resumed, the model is the new run's") {
  const std::string files[] = {"model.safetensors", "training.safetensors", "config.json"};
  REQUIRE(weft(train("new", "--steps 20")).code == 0);
  for (const std::string old : {"--steps 20 --seed 2", "--steps 20 --dropout 0.5", "--steps 20 --set tied=true"}) {
    REQUIRE(weft(train("old", old) + " --overwrite").code == 0);
    folder.write("old/training.safetensors", folder.read("new/training.safetensors"));  // what a kill leaves
    const Outcome resumed = weft(train("old", "--steps 20") + " --resume");
    CHECK(resumed.code == 0);
    CHECK_FALSE(contains(resumed.err, "nothing to do"));
    for (const std::string& file : files) CHECK(folder.read("old/" + file) == folder.read("new/" + file));
  }
}

TEST_CASE_FIXTURE(Runs, "a damaged model or config doesn't keep a whole state from being resumed, and is said") {
  REQUIRE(weft(train("whole", "--steps 20")).code == 0);
  for (const std::string file : {"model.safetensors", "config.json"})
    for (const std::string damage : {"", "{", "[[[[[[[[[[[[[[[[[[[[[[[[["}) {
      CAPTURE(file);
      REQUIRE(weft(train("run", "--steps 12") + " --overwrite").code == 0);
      folder.write("run/" + file, damage);
      const Outcome resumed = weft(train("run", "--steps 20 --schedule constant") + " --resume");
      CHECK(contains(resumed.err, "it is of a run with schedule"));
      const Outcome longer = weft(train("run", "--steps 20") + " --resume");
      CHECK(longer.code == 0);
      CHECK(contains(longer.err, file));
      CHECK(contains(longer.err, "goes on from its state, which is whole"));
      CHECK(weft("info --checkpoint " + (folder / "run")).code == 0);
    }
}

TEST_CASE_FIXTURE(Runs, "--log: no file that the run reads or writes, and no other but a log") {
  folder.write("config.json", R"({"arch": "gmlp"})");
  folder.write("notes", "mine\n");
  REQUIRE(weft(train("run", "--steps 2")).code == 0);
  std::filesystem::create_symlink(folder / "run", folder / "link");
  std::filesystem::create_hard_link(folder / "text", folder / "hard");
  for (const std::string log :
       {"text", "hard", "config.json", "notes", "run/model.safetensors", "run/config.json", "run/training.safetensors",
        "run/.lock", "run/../run/model.safetensors", "link/config.json", "new/model.safetensors"}) {
    CAPTURE(log);
    const std::string before = folder.read(log), out = log.substr(0, 3) == "new" ? "new" : "run";
    CHECK(fails_with(weft(train(out, "--overwrite --steps 2 --config " + (folder / "config.json")) + " --log " +
                          (folder / log)),
                     1, "--log names "));
    CHECK(folder.read(log) == before);
    CHECK(std::filesystem::exists(folder / log) == (out != "new"));
  }
}

TEST_CASE_FIXTURE(Runs, "a resumed run cuts the log to where it goes on") {
  const std::string log = " --eval-every 4 --log " + (folder / "log");
  REQUIRE(weft(train("run", "--schedule constant --steps 6") + log).code == 0);
  const std::string six = folder.read("log");
  REQUIRE(weft(train("run", "--schedule constant --steps 8") + log + " --resume").code == 0);
  const std::string eight = folder.read("log");
  CHECK(eight.rfind(six, 0) == 0);
  REQUIRE(weft(train("run", "--schedule constant --steps 6 --overwrite") + log).code == 0);
  CHECK(folder.read("log") == six);
  folder.write("log", eight + "9\t1.0\t-\n10\t");  // of a run that was killed later than its last state
  REQUIRE(weft(train("run", "--schedule constant --steps 8") + log + " --resume").code == 0);
  CHECK(folder.read("log") == eight);
}

}  // namespace weft::test
