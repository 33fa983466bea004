// Tests of --recompute, which changes how a run computes but not its results.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {

TEST_CASE("--recompute: the same bytes, a record in run.json, and resuming with or without it") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const std::string train = "train --overwrite --arch " + arch + " --text " + (folder / "text") + sizes +
                              "--layers 2 --dropout 0.1 --schedule constant --micro-batches 2 --eval-every 3 --steps ";
    const auto bytes = [&](const std::string& run) { return folder.read(run + "/last/training.safetensors"); };
    const auto setting = [&](const std::string& run) {
      return nlohmann::json::parse(folder.read(run + "/run.json"))["training"].value("recompute", false);
    };
    const Outcome plain = weft(train + "6 --out " + (folder / "plain"));
    CAPTURE(plain.err);
    REQUIRE(plain.code == 0);
    REQUIRE(weft(train + "6 --recompute --out " + (folder / "again")).code == 0);
    CHECK(bytes("again") == bytes("plain"));
    CHECK(setting("again"));
    CHECK(!setting("plain"));
    REQUIRE(weft(train + "3 --recompute --out " + (folder / "half")).code == 0);
    REQUIRE(weft("train --steps 6 --resume " + (folder / "half")).code == 0);
    CHECK(bytes("half") == bytes("plain"));
    REQUIRE(weft(train + "3 --out " + (folder / "later")).code == 0);
    const Outcome resumed = weft("train --recompute --steps 6 --resume " + (folder / "later"));
    CAPTURE(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(bytes("later") == bytes("plain"));
    REQUIRE(weft("train --overwrite --config " + (folder / "again/run.json") + " --out " + (folder / "copy")).code ==
            0);
    CHECK(setting("copy"));
    CHECK(bytes("copy") == bytes("plain"));
  }
}

}  // namespace weft::test
