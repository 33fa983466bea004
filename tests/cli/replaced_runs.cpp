// Tests of runs that are repeated with other settings, of runs that replace other runs, and of runs on a disk that was
// full.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

std::string table(const std::string& header) {
  std::string rows = header + "\n";
  const LabeledTexts all = small_rows();
  for (std::size_t i = 0; i < all.texts.size(); ++i)
    rows += std::to_string(i) + "," + (all.labels[i] == 0 ? "red" : "blue") + "," + all.texts[i] + "\n";
  return rows;
}

// A run on rows whose columns have to be named.
struct OfRows {
  OfRows() {
    folder.write("rows", table("id,shade,remark"));
    folder.write("other", table("id,label,text"));
    folder.write("text", small_text());
    const Outcome trained =
        weft("train --arch gmlp" + sizes + "--steps 2 --min-count 1 --data " + (folder / "rows") +
             " --format csv --header yes --columns text=remark,label=shade --skip-bad-rows --pad-to 6 --out " +
             (folder / "a"));
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
  }
  nlohmann::json settings(const std::string& run) const {
    return nlohmann::json::parse(folder.read(run + "/run.json"))["data"];
  }
  // Returns the data settings of the repeated run.
  nlohmann::json repeated(const std::string& options, const std::string& run = "a") const {
    const Outcome outcome = weft("train --config " + (folder / (run + "/run.json")) + " --overwrite --out " +
                                 (folder / "b") + " " + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return settings("b");
  }
  Outcome refused(const std::string& options) const {
    return weft("train --config " + (folder / "a/run.json") + " --out " + (folder / "c") + " " + options);
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(OfRows, "run.json: options for the rows override it without naming the rows again") {
  const nlohmann::json first = settings("a");
  CHECK(first["columns"] == "text=remark,label=shade");
  CHECK(repeated("") == first);
  CHECK(repeated("--pad-to exact")["pad-to"] == "exact");
  CHECK(repeated("--columns text=3,label=2")["columns"] == "text=3,label=2");
  CHECK(repeated("--test " + (folder / "rows"))["test"] == (folder / "rows"));
  CHECK(repeated("--format auto --header auto --skip-bad-rows")["header"] == "auto");
  CHECK(repeated("--pad-to 5")["data"] == (folder / "rows"));
  folder.write("gmlp.json", R"({"arch": "gmlp"})");
  CHECK(fails_with(weft("train --config " + (folder / "gmlp.json") + " --columns text=1 --text " + (folder / "text") +
                        " --out " + (folder / "c")),
                   2, "--columns requires --data"));
  CHECK(fails_with(refused("--task causal-lm --pad-to 4 --text " + (folder / "text")), 2, "--pad-to requires --data"));
  CHECK(fails_with(weft("train --arch gmlp --columns text=1 --text " + (folder / "text") + " --out x"), 2,
                   "--columns requires --data"));
}

TEST_CASE_FIXTURE(OfRows, "run.json with other rows: the format of the old rows doesn't apply to them") {
  const nlohmann::json other = repeated("--data " + (folder / "other"));
  CHECK(other["data"] == (folder / "other"));
  CHECK_FALSE(other.contains("columns"));
  CHECK(other["header"] == "auto");
  CHECK(other["format"] == "auto");
  CHECK(other["pad-to"] == "6");
  CHECK(other["skip-bad-rows"] == true);
  CHECK(repeated("--columns text=text,label=label --data " + (folder / "other"))["columns"] == "text=text,label=label");
  std::filesystem::rename(folder / "rows", folder / "moved");  // the same rows with a different path
  const Outcome resumed = weft("train --steps 3 --resume " + (folder / "a") + " --data " + (folder / "moved"));
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(settings("a")["columns"] == "text=remark,label=shade");
}

TEST_CASE_FIXTURE(OfRows, "run.json: a flag may be true or the string \"true\"") {
  std::string run = folder.read("a/run.json");
  const std::string flag = "\"skip-bad-rows\": true";
  REQUIRE(contains(run, flag));
  folder.write("old/run.json", run.replace(run.find(flag), flag.size(), "\"skip-bad-rows\": \"true\""));
  CHECK(repeated("", "old")["skip-bad-rows"] == true);
  folder.write("off/run.json", run.replace(run.find("\"true\""), 6, "false"));
  folder.write("rows", table("id,shade,remark") + "x\n");
  CHECK(fails_with(weft("train --config " + (folder / "off/run.json") + " --out " + (folder / "c")), 1,
                   "row 62: expected 3 columns"));
}

TEST_CASE_FIXTURE(OfRows, "run.json with another architecture: the error names fields that it lacks") {
  const Outcome tnn = refused("--arch tnn");
  CAPTURE(tnn.err);
  CHECK(
      fails_with(tnn, 2, "--arch tnn: \"" + (folder / "a/run.json") + "\" is for gmlp, and the config of tnn has no "));
  CHECK(contains(tnn.err, "d_ffn"));
  CHECK(contains(tnn.err, "leave out --config and give the sizes of tnn (weft info --arch tnn lists them)"));
  folder.write("small.json", R"({"arch": "gmlp", "layers": 1, "d_model": 16})");
  CHECK(weft("train --config " + (folder / "small.json") + " --arch tnn --steps 1 --text " + (folder / "text") +
             " --out " + (folder / "c"))
            .code == 0);
}

TEST_CASE_FIXTURE(OfRows, "--overwrite: the report of the replaced run is removed, but other pages stay") {
  const std::string train =
      "train --arch gmlp --text " + (folder / "text") + sizes + "--steps 2 --out " + (folder / "a");
  REQUIRE(weft("report " + (folder / "a")).code == 0);
  REQUIRE(std::filesystem::exists(folder / "a/report.html"));
  CHECK(weft(train + " --overwrite --seq-len 2000000").code == 1);
  CHECK(std::filesystem::exists(folder / "a/report.html"));
  CHECK(weft(train + " --overwrite").code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "a/report.html"));
  folder.write("a/report.html", "mine");
  CHECK(weft(train + " --overwrite").code == 0);
  CHECK(folder.read("a/report.html") == "mine");
}

TEST_CASE_FIXTURE(OfRows, "--keep-going reports when saves succeed again") {
  const std::string run = folder / "run";
  folder.write("run/last", "in the way");
  std::thread helper([&] {
    while (!contains(folder.read("run/metrics.jsonl"), "validation_loss"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::filesystem::remove(folder / "run/last");
  });
  const Outcome outcome = weft_with_signal("train --arch gmlp --text " + (folder / "text") + sizes +
                                               "--steps 1000000 --eval-every 20 --keep-going --out " + run,
                                           "is saved, after earlier saves failed", SIGINT);
  helper.join();
  CAPTURE(outcome.err);
  CHECK(outcome.code == 128 + SIGINT);
  CHECK(contains(outcome.err, "; the run continues, and earlier saves are intact\nstep 20"));
  CHECK(contains(outcome.err, " is saved, after earlier saves failed\n"));
  CHECK(weft("info " + run + " --checkpoint last").code == 0);
  const Outcome whole = weft("train --arch gmlp --text " + (folder / "text") + sizes +
                             "--steps 2 --eval-every 1 --keep-going --out " + (folder / "whole"));
  CHECK(whole.code == 0);
  CHECK_FALSE(contains(whole.err, "is saved"));
}

}  // namespace weft::test
