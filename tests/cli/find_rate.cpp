// Tests of weft train --find-lr.
#include <doctest/doctest.h>

#include <filesystem>

#include "command.h"
#include "temporary_folder.h"

namespace weft::test {

TEST_CASE("weft train --find-lr prints losses and a rate, and saves nothing") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "one two three four five ";
  folder.write("text", text);
  const std::string train = "train --arch gmlp --text " + (folder / "text") + " --layers 1 --d-model 16 --seq-len 16";
  const Outcome found = weft(train + " --find-lr --steps 60 --out " + (folder / "run"));
  CHECK(found.code == 0);
  CHECK(found.out.substr(0, found.out.find('\n')) == "learning rate\tloss");
  CHECK(contains(found.out, "\nsuggested: --lr "));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
  CHECK(weft(train + " --find-lr").code == 0);  // works without --out
  CHECK(contains(weft(train + " --find-lr --steps 9").err, "at least 10 steps, got"));
  CHECK(fails_with(weft("train --find-lr --resume " + (folder / "run")), 2, "--find-lr"));
}

}  // namespace weft::test
