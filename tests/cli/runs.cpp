// Tests of a run's folder: conflicts, and damage from which it recovers.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/os.h"

namespace weft::test {
namespace {

struct Runs {
  Runs() {
    folder.write("text", small_text());
    folder.write("csv", small_csv());
  }
  std::string train(const std::string& out, const std::string& more) const {
    return "train --arch gmlp --text " + (folder / "text") + sizes + more + " --out " + (folder / out);
  }
  nlohmann::json settings(const std::string& run) const {
    return nlohmann::json::parse(folder.read(run + "/run.json"));
  }
  bool same(const std::string& a, const std::string& b) const {
    for (const char* file : {"/last/model.safetensors", "/last/training.safetensors", "/last/config.json",
                             "/best/model.safetensors", "/best/config.json"})
      if (folder.read(a + file) != folder.read(b + file) || folder.read(a + file).empty()) return false;
    return true;
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Runs, "two runs into one folder: the second is refused and changes nothing") {
  REQUIRE(weft(train("run", "--steps 3")).code == 0);
  const std::string model = folder.read("run/last/model.safetensors");
  {
    const os::FolderLock other(folder / "run");
    CHECK(fails_with(weft(train("run", "--steps 5 --overwrite")), 1, "is in use by process "));
    CHECK(fails_with(weft("train --steps 5 --resume " + (folder / "run")), 1, "is in use by process "));
    CHECK(folder.read("run/last/model.safetensors") == model);
  }
  CHECK(weft(train("run", "--steps 5 --overwrite")).code == 0);
}

TEST_CASE_FIXTURE(Runs, "a new run's state next to another run's model: resuming gives the new run's model") {
  REQUIRE(weft(train("new", "--steps 20")).code == 0);
  for (const std::string old : {"--steps 20 --seed 2", "--steps 20 --dropout 0.5", "--steps 20 --set tied=true"}) {
    REQUIRE(weft(train("old", old) + " --overwrite").code == 0);
    for (const std::string file : {"/last/training.safetensors", "/run.json"})  // left behind by a kill
      folder.write("old" + file, folder.read("new" + file));
    const Outcome resumed = weft("train --resume " + (folder / "old"));
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    CHECK_FALSE(contains(resumed.err, "nothing to do"));
    CHECK(same("old", "new"));
  }
}

TEST_CASE_FIXTURE(Runs, "a damaged model or config is reported, but an intact state can be resumed") {
  for (const std::string file : {"last/model.safetensors", "last/config.json", "best/model.safetensors"})
    for (const std::string damage : {"", "{", "[[[[[[[[[[[[[[[[[[[[[[[["}) {
      CAPTURE(file);
      REQUIRE(weft(train("run", "--steps 12") + " --overwrite").code == 0);
      folder.write("run/" + file, damage);
      const Outcome longer = weft("train --steps 20 --resume " + (folder / "run"));
      CHECK(longer.code == 0);
      if (file[0] == 'l') {
        CHECK(contains(longer.err, file));
        CHECK(contains(longer.err, "continues from the saved state of the run, which is intact"));
      }
      CHECK(weft("info " + (folder / "run")).code == 0);
      CHECK(weft("info " + (folder / "run") + " --checkpoint last").code == 0);
    }
}

TEST_CASE_FIXTURE(Runs, "--log refuses files that the run reads or writes, and all existing files that are not logs") {
  folder.write("config.json", R"({"arch": "gmlp"})");
  folder.write("notes", "mine\n");
  REQUIRE(weft(train("run", "--steps 2")).code == 0);
  REQUIRE(weft(train("other", "--steps 2")).code == 0);
  std::filesystem::create_symlink(folder / "run", folder / "link");
  std::filesystem::create_hard_link(folder / "text", folder / "hard");
  for (const std::string log :
       {"text", "hard", "config.json", "notes", "run/last/model.safetensors", "run/best/config.json",
        "run/last/training.safetensors", "run/.lock", "run/run.json", "run/metrics.jsonl", "run/../run/run.json",
        "link/last/config.json", "new/last/model.safetensors", "new/run.json"}) {
    CAPTURE(log);
    const std::string before = folder.read(log), out = log.substr(0, 3) == "new" ? "new" : "run";
    CHECK(fails_with(
        weft(train(out, "--overwrite --steps 2 --config " + (folder / "config.json")) + " --log " + (folder / log)), 1,
        "--log names "));
    CHECK(folder.read(log) == before);
    CHECK(std::filesystem::exists(folder / log) == (out != "new"));
  }
  folder.write("tokenizer.json", R"({"kind":"characters","symbols":["a"]})");
  const std::string tokenizer = folder.read("tokenizer.json");
  CHECK(fails_with(weft(train("new", "--steps 2 --tokenizer " + (folder / "tokenizer.json")) + " --log " +
                        (folder / "tokenizer.json")),
                   1, "--log names "));
  CHECK(folder.read("tokenizer.json") == tokenizer);
  CHECK(fails_with(weft("train --text " + (folder / "text") + " --from " + (folder / "other") + " --out " +
                        (folder / "new") + " --log " + (folder / "other/best/model.safetensors")),
                   1, "--log names "));
}

TEST_CASE_FIXTURE(Runs, "a resumed run truncates the log to the step at which it continues") {
  const std::string log = " --eval-every 4 --log " + (folder / "log");
  const std::string resume = "train --resume " + (folder / "run");
  REQUIRE(weft(train("run", "--schedule constant --steps 6") + log).code == 0);
  const std::string six = folder.read("log");
  REQUIRE(weft(resume + " --steps 8" + log).code == 0);
  const std::string eight = folder.read("log");
  CHECK(eight.rfind(six, 0) == 0);
  REQUIRE(weft(train("run", "--schedule constant --steps 6 --overwrite") + log).code == 0);
  CHECK(folder.read("log") == six);
  folder.write("log", eight + "9\t1.0\t-\n10\t");  // from a run that was killed after its last saved state
  REQUIRE(weft(resume + " --steps 8" + log).code == 0);
  CHECK(folder.read("log") == eight);
}

TEST_CASE_FIXTURE(Runs, "a copied folder doesn't determine the log that --resume writes") {
  REQUIRE(weft(train("run", "--steps 2")).code == 0);
  nlohmann::json run = settings("run");
  for (const char* name : {"new", "log"}) {
    folder.write("log", "step\tloss\tvalidation loss\n1\t2.0\t-\n");
    const std::string before = folder.read("log");
    run["run"]["log"] = folder / name;
    folder.write("run/run.json", run.dump());
    const Outcome resumed = weft("train --steps 3 --resume " + (folder / "run"));
    REQUIRE(resumed.code == 0);
    CHECK(contains(resumed.err, "the log \"" + (folder / name) +
                                    "\", which the run began, is not continued: --log with its path continues"));
    CHECK_FALSE(std::filesystem::exists(folder / "new"));
    CHECK(folder.read("log") == before);
    REQUIRE(weft(train("run", "--overwrite --steps 2")).code == 0);
  }
}

TEST_CASE_FIXTURE(Runs, "run.json repeats a run on a text or on rows, with every option that was given") {
  const std::string text =
      train("a",
            "--steps 7 --eval-every 3 --micro-batches 2 --schedule linear --lr 0.02 --lr-floor 0.1 "
            "--warmup 2 --label-smoothing 0.1 --seed 5 --patience 9 --optimizer adam --beta1 0.8 "
            "--weight-decay 0.01 --clip 0.5 --dropout 0.1 --set tied=true");
  const std::string rows =
      "train --arch fnet --csv " + (folder / "csv") + " --csv-test " + (folder / "csv") + sizes +
      "--steps 5 --min-count 1 --vocabulary-size 30 --pad-to exact --word-dropout 0.25 --optimizer sgd --out " +
      (folder / "a");
  for (const std::string& first : {text, rows, train("a", "--steps 4")}) {
    CAPTURE(first);
    REQUIRE(weft(first + " --overwrite").code == 0);
    const Outcome again =
        weft("train --config " + (folder / "a/run.json") + " --overwrite --out " + (folder / "b") + " --threads 1");
    CAPTURE(again.err);
    CHECK(again.code == 0);
    CHECK(contains(again.err, "describes a run"));
    CHECK(same("a", "b"));
    nlohmann::json a = settings("a"), b = settings("b");
    CHECK(b["machine"]["threads"] == 1);
    a.erase("machine");
    b.erase("machine");
    CHECK(a == b);
  }
  CHECK(settings("a")["training"]["lr"] == 2e-3);  // nobody set this option
  CHECK(settings("a")["training"]["batch"] == 4);
  CHECK(settings("a")["optimizer"]["beta2"] == 0.99);
  CHECK(settings("a")["model"]["config"]["d_ffn"] == 128);
  CHECK(settings("a")["data"]["text"] == (folder / "text"));
  CHECK(settings("a")["weft"].is_string());
}

TEST_CASE_FIXTURE(Runs, "a repeated run leaves the log of the first run unchanged") {
  REQUIRE(weft(train("a", "--steps 4 --log " + (folder / "log"))).code == 0);
  const std::string log = folder.read("log"), again = "train --config " + (folder / "a/run.json") + " --seed 2 --out ";
  REQUIRE_FALSE(log.empty());
  CHECK(weft(again + (folder / "b")).code == 0);
  CHECK(folder.read("log") == log);
  CHECK_FALSE(settings("b")["run"].contains("log"));
  CHECK(weft(again + (folder / "c") + " --log " + (folder / "other")).code == 0);
  CHECK(settings("c")["run"]["log"] == (folder / "other"));
  CHECK_FALSE(folder.read("other").empty());
}

TEST_CASE_FIXTURE(Runs, "run.json with other options: the given options count") {
  REQUIRE(weft(train("a", "--steps 4 --beta1 0.8")).code == 0);
  const std::string again = "train --config " + (folder / "a/run.json") + " --overwrite --out " + (folder / "b") + " ";
  CHECK(weft(again + "--seed 3 --layers 2 --optimizer sgd --steps 3").code == 0);
  CHECK(settings("b")["training"]["seed"] == 3);
  CHECK(settings("b")["training"]["steps"] == 3);
  CHECK(settings("b")["optimizer"]["optimizer"] == "sgd");
  CHECK(settings("b")["optimizer"]["momentum"] == 0.9);
  CHECK(settings("b")["training"]["lr"] == 2e-3);
  CHECK_FALSE(settings("b")["optimizer"].contains("beta1"));
  CHECK(settings("b")["model"]["config"]["layers"] == 2);
  CHECK(weft(again + "--optimizer lion").code == 0);
  CHECK(settings("b")["training"]["lr"] == 2e-4);
  CHECK(weft(again + "--optimizer lion --lr 3e-4").code == 0);
  CHECK(settings("b")["training"]["lr"] == 3e-4);
  CHECK(weft(again + "--task classifier --csv " + (folder / "csv")).code == 0);
  CHECK_FALSE(settings("b")["data"].contains("text"));
  const std::string run = folder.read("a/run.json");
  const std::pair<std::string, std::string> wrong[] = {{"\"steps\": 4", "\"colour\": 4"},
                                                       {"\"steps\": 4", "\"steps\": \"many\""},
                                                       {"\"steps\": 4", "\"steps\": {}"},
                                                       {"\"arch\": \"gmlp\"", "\"arch\": 7"}};
  for (const auto& change : wrong) {
    std::string changed = run;
    REQUIRE(changed.find(change.first) != std::string::npos);
    folder.write("changed.json", changed.replace(changed.find(change.first), change.first.size(), change.second));
    CAPTURE(change.second);
    CHECK(fails_with(weft("train --config " + (folder / "changed.json") + " --out " + (folder / "c")), 1,
                     "changed.json"));
  }
  const std::string key = "\"seed\": ";
  const std::size_t at = run.find(key);
  REQUIRE(at != std::string::npos);
  const std::string twice = run.substr(0, at) + key + "77, " + run.substr(at);
  folder.write("changed.json", twice);
  folder.write("a/run.json", twice);
  const std::string says = "an object has the key \"seed\" twice";
  CHECK(fails_with(weft("train --config " + (folder / "changed.json") + " --out " + (folder / "c")), 1, says));
  CHECK(fails_with(weft("train --resume " + (folder / "a")), 1, says));
  CHECK(fails_with(weft("report " + (folder / "a") + " --out " + (folder / "page.html")), 1, says));
  CHECK(fails_with(weft("info --config " + (folder / "changed.json")), 1, says));
  folder.write("a/run.json", run.substr(0, run.size() / 2));
  CHECK(fails_with(
      weft(again), 1,
      "run.json\": expected a JSON object with the fields of an architecture or of a run; is the file truncated?"));
  CHECK(fails_with(weft("train --resume " + (folder / "a")), 1, "run.json"));
  CHECK(weft("info --config " + (folder / "b/run.json")).code == 0);
}

TEST_CASE_FIXTURE(Runs, "--resume from another folder, with moved data, and a longer run and its learning rate") {
  REQUIRE(
      weft("train --arch gmlp --text " + (folder / "text") + sizes + "--steps 8 --warmup 2 --out " + (folder / "run"))
          .code == 0);
  std::filesystem::rename(folder / "text", folder / "moved");
  std::filesystem::rename(folder / "run", folder / "other");
  const std::string resume = "train --resume " + (folder / "other");
  CHECK(fails_with(weft(resume + " --steps 12"), 1,
                   (folder / "text") + "\", which the run needs: give the new path with --text"));
  const Outcome longer = weft(resume + " --steps 12 --text " + (folder / "moved"));
  CHECK(longer.code == 0);
  CHECK(contains(longer.err,
                 "the cosine schedule no longer ends at step 8: after step 8 the learning rate continues with "));
  CHECK(settings("other")["training"]["steps"] == 12);
  const Outcome nothing = weft(resume);
  CHECK(nothing.code == 0);
  CHECK(contains(nothing.err, "nothing to do"));
  CHECK_FALSE(contains(nothing.err, "schedule"));
  for (const char* file : {"model.safetensors", "config.json", "training.safetensors"})
    std::filesystem::rename(folder / (std::string("other/last/") + file), folder / (std::string("other/") + file));
  for (const char* name : {"last", "best", "run.json"})
    std::filesystem::remove_all(folder / (std::string("other/") + name));
  CHECK(fails_with(weft(resume), 1, "has no run.json"));  // like a run of an earlier version
  CHECK(weft("generate " + (folder / "other") + " --prompt line --tokens 3").code == 0);
  CHECK(fails_with(weft(train("other", "--steps 2").replace(0, 5, "train")), 1, "already exists"));
}

TEST_CASE_FIXTURE(Runs, "--from: the same task with other data, another head, and sizes that don't fit") {
  REQUIRE(weft(train("first", "--steps 30 --lr 0.01")).code == 0);
  const std::string from = "train --from " + (folder / "first") + " --overwrite --out " + (folder / "run") + " ";
  const Outcome more = weft(from + "--steps 1 --lr 1e-30 --split 90/10/0 --text " + (folder / "text"));
  CAPTURE(more.err);
  CHECK(more.code == 0);
  CHECK(number_after(more.out, "validation loss ") ==
        number_after(weft("eval " + (folder / "first") + " --batch 4 --text " + (folder / "text")).out, "test loss "));
  CHECK(number_after(weft("info " + (folder / "run")).out, "\nstep ") == 1);
  CHECK(settings("run")["model"]["config"]["d_model"] == 16);
  const Outcome masked = weft(from + "--steps 1 --task masked-lm --text " + (folder / "text"));
  CHECK(fails_with(masked, 1, "mask"));

  const std::string csv = "--csv " + (folder / "csv") + " ";
  REQUIRE(weft("train --arch fnet " + csv + sizes + "--steps 3 --min-count 1 --out " + (folder / "rows")).code == 0);
  const std::string from_rows = "train --from " + (folder / "rows") + " --overwrite --out " + (folder / "run") + " ";
  std::string five;
  for (int i = 0; i < 40; ++i) five += std::string(1, "vwxyz"[i % 5]) + ",red green " + std::to_string(i) + "\n";
  folder.write("five", five);
  const Outcome head = weft(from_rows + "--data " + (folder / "five") + " --steps 2");
  CAPTURE(head.err);
  CHECK(head.code == 0);
  CHECK(contains(head.err, "; new parameters: "));
  CHECK(contains(head.err, "classifier.weight"));
  CHECK(weft(from_rows + csv + "--steps 2").code == 0);
  const Outcome repeated = weft("train --config " + (folder / "run/run.json") + " --out " + (folder / "again"));
  CHECK(repeated.code == 0);
  CHECK(same("run", "again"));
  const Outcome longer = weft("train --resume " + (folder / "run") + " --steps 4");
  CHECK(longer.code == 0);
  CHECK(fails_with(weft(from_rows + csv + "--steps 2 --d-model 24"), 1, "but the model that receives it has"));
  CHECK(fails_with(weft(from_rows + csv + "--arch gmlp"), 1,
                   "--from: expected a checkpoint of the architecture gmlp, got fnet"));
  CHECK(fails_with(weft(from_rows + csv + "--columns label=1,text=3 --recipe fnet-agnews"), 1,
                   "but the model that receives it has"));
  CHECK(
      fails_with(weft("train --out " + (folder / "x") + " --from " + (folder / "missing") + " " + csv), 1, "missing"));
}

TEST_CASE_FIXTURE(
    Runs, "eval, generate and info accept a run's folder, its best or last checkpoint, or a checkpoint's folder") {
  REQUIRE(
      weft(train("run", "--steps 60 --eval-every 4 --lr 1 --warmup 100 --schedule constant --clip 0 --split 90/10/0"))
          .code == 0);
  const std::string run = folder / "run", text = " --text " + (folder / "text");
  const double best = *load_checkpoint(run + "/best").info.validation_loss;
  const double last = *load_checkpoint(run + "/last").info.validation_loss;
  REQUIRE(best < last);
  const auto loss = [&](const std::string& arguments) {
    const Outcome outcome = weft("eval --batch 4 " + arguments + text);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return number_after(outcome.out, "validation loss ");
  };
  for (const std::string& of_best : {run, run + " --checkpoint best", run + "/best", "--checkpoint " + run})
    CHECK(loss(of_best) == doctest::Approx(best).epsilon(1e-4));
  for (const std::string& of_last : {run + " --checkpoint last", run + "/last", "--checkpoint " + run + "/last"})
    CHECK(loss(of_last) == doctest::Approx(last).epsilon(1e-4));
  CHECK(number_after(weft("info " + run + " --checkpoint last").out, "\nstep ") == 60);
  CHECK(weft("generate " + run + " --prompt line --tokens 3").code == 0);
  CHECK(fails_with(weft("generate " + run + " --checkpoint first"), 1, "\"best\" or \"last\""));
  CHECK(fails_with(weft("generate --prompt a"), 2, "folder of a run"));
  CHECK(fails_with(weft("eval" + text), 2, "folder of a run"));
}

TEST_CASE_FIXTURE(Runs, "patience ends a run like a finished one, and --patience lets it continue") {
  const Outcome ended =
      weft(train("run", "--steps 90 --eval-every 4 --patience 2 --lr 1 --warmup 100 --schedule constant --clip 0"));
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.err, ": no lower validation loss in 2 validations"));
  CHECK(ends_as_promised(ended.out));
  const double step = number_after(ended.err, "weft: ended after step ");
  CHECK(step < 90);
  CHECK(number_after(weft("info " + (folder / "run") + " --checkpoint last").out, "\nstep ") == step);
  const Outcome again = weft("train --resume " + (folder / "run"));
  CHECK(again.code == 0);
  CHECK(number_after(again.err, "weft: ended after step ") == step);
  CHECK(weft("train --patience 0 --steps 91 --resume " + (folder / "run")).code == 0);
  CHECK(number_after(weft("info " + (folder / "run") + " --checkpoint last").out, "\nstep ") == 91);
}

TEST_CASE_FIXTURE(
    Runs, "a disk that fills up: the previous checkpoint survives; the run ends, or goes on with --keep-going") {
  REQUIRE(weft(train("run", "--steps 4")).code == 0);
  const std::string model = folder.read("run/last/model.safetensors");
  rlimit before;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit full{model.size() / 2, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  const Outcome ended = weft("train --steps 9 --resume " + (folder / "run"));
  const Outcome went_on = weft("train --steps 9 --eval-every 2 --keep-going --resume " + (folder / "run"));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(ended.code == 1);
  CHECK(contains(ended.err, "File too large"));
  CHECK(contains(ended.err, "--resume " + (folder / "run")));
  CHECK(contains(ended.err, "; with --keep-going, a run continues when a save fails\n"));
  CHECK(went_on.code == 1);  // the last save failed, too
  const std::string going_on = "the run continues, and earlier saves are intact";
  CHECK(contains(went_on.err, going_on));
  CHECK(went_on.err.find(going_on) == went_on.err.rfind(going_on));  // printed only once
  CHECK_FALSE(contains(went_on.err, "keep-going"));
  CHECK_FALSE(contains(went_on.err, "is saved, after"));
  CHECK(contains(went_on.err, "step 8: validation loss"));
  CHECK(folder.read("run/last/model.safetensors") == model);
  CHECK(weft("train --steps 9 --resume " + (folder / "run")).code == 0);
  REQUIRE(weft(train("whole", "--steps 9")).code == 0);
  CHECK(folder.read("run/last/model.safetensors") == folder.read("whole/last/model.safetensors"));
}

}  // namespace weft::test
