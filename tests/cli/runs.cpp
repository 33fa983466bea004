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

}  // namespace weft::test
