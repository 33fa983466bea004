// Compares ranks of mpirun with one process that has as many micro-batches. The bytes must be the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../cli/small_run.h"
#include "ranks.h"

namespace weft::test {
namespace {

struct Texts {
  Texts() {
    folder.write("text", small_text());
    folder.write("rows.csv", small_csv());
  }
  std::string of(const std::string& model) const {
    const bool rows = contains(model, "fnet") && !contains(model, "masked-lm");
    return "\"$WEFT\" train " + model + (rows ? " --data " + (folder / "rows.csv") : " --text " + (folder / "text")) +
           sizes + "--dropout 0.1 --clip 0.1 --threads 1 --steps 6 --eval-every 4 --out ";
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Texts, "mpirun: with 2 and 3 ranks, a run of every architecture gives the bytes of one process") {
  for (const std::string model :
       {"--arch gmlp", "--arch tnn --optimizer sgd", "--arch fnet", "--arch fnet --task masked-lm"})
    for (const int ranks : {2, 3}) {
      CAPTURE(model);
      CAPTURE(ranks);
      const std::string name = std::to_string(ranks);
      const Outcome alone = shell(of(model) + (folder / "alone") + " --overwrite --micro-batches " + name);
      const Outcome many =
          shell(mpirun(ranks) + of(model) + (folder / "many") + " --overwrite --log " + (folder / "log"));
      CAPTURE(many.err);
      CHECK(alone.code == 0);
      CHECK(many.code == 0);
      CHECK(same_run(folder, "alone", "many"));
      CHECK(contains(many.err, " " + name + " ranks of 1 threads"));
      CHECK(ends_as_promised(many.out));
      CHECK(number_after(many.out, "validation loss ") == number_after(alone.out, "validation loss "));
      CHECK(number_after(many.out, "gradients sent ") > 0);
      const std::string text = folder.read("many/metrics.jsonl"), log = folder.read("log");
      // Only rank 0 writes metrics: steps, validations and, for a text, the test on its last part.
      const bool is_tested = contains(many.out, "test loss ");
      CHECK(is_tested == (model != "--arch fnet"));
      CHECK(std::count(text.begin(), text.end(), '\n') == 8 + is_tested);
      CHECK(std::count(log.begin(), log.end(), '\n') == 9);
      auto settings = nlohmann::json::parse(folder.read("alone/run.json")),
           of_many = nlohmann::json::parse(folder.read("many/run.json"));
      CHECK(of_many["machine"]["ranks"] == ranks);
      for (auto* run : {&settings, &of_many}) {
        run->erase("machine");
        run->erase("run");  // section "run" names the log
      }
      CHECK(settings == of_many);
      std::filesystem::remove(folder / "log");
    }
}

TEST_CASE_FIXTURE(Texts,
                  "mpirun: a run resumes with another number of ranks, gives the same bytes, and reports the numbers") {
  const std::string more = " --schedule constant --micro-batches 2 --eval-every 3 --steps ";
  REQUIRE(shell(of("--arch gmlp") + (folder / "alone") + more + "12").code == 0);
  REQUIRE(shell(mpirun(2) + of("--arch gmlp") + (folder / "many") + more + "3").code == 0);
  const std::string resume = "\"$WEFT\" train --resume " + (folder / "many") + " --steps ";
  const Outcome three = shell(mpirun(3) + resume + "6");
  CHECK(three.code == 0);
  CHECK(contains(
      three.err,
      "weft: 2 ranks began this run, and 3 continue it with bit-identical results; 2 micro-batches per step, so "
      "1 rank is idle\n"));
  const Outcome one = shell(resume + "9");
  CHECK(one.code == 0);
  CHECK(contains(
      one.err,
      "weft: 3 ranks began this run, and 1 continues it with bit-identical results; 2 micro-batches per step\n"));
  const Outcome two = shell(mpirun(2) + resume + "12");
  CHECK(two.code == 0);
  CHECK(folder.read("alone/last/training.safetensors") == folder.read("many/last/training.safetensors"));
  CHECK(folder.read("alone/last/model.safetensors") == folder.read("many/last/model.safetensors"));
  const Outcome done = shell(mpirun(2) + resume + "12");
  CHECK(done.code == 0);
  CHECK(contains(said_by_weft(done.err), "nothing to do"));
}

TEST_CASE_FIXTURE(Texts, "mpirun: --exchange bf16 halves the traffic, and a resumed run keeps it") {
  const std::string begin = mpirun(2) + of("--arch gmlp");
  const Outcome exact = shell(begin + (folder / "exact"));
  const Outcome rounded = shell(begin + (folder / "rounded") + " --exchange bf16");
  CAPTURE(rounded.err);
  REQUIRE(exact.code == 0);
  REQUIRE(rounded.code == 0);
  const auto sent = [](const Outcome& outcome) { return number_after(outcome.out, "gradients sent "); };
  CHECK(sent(rounded) == doctest::Approx(sent(exact) / 2).epsilon(0.05));
  CHECK(number_after(rounded.out, "validation loss ") ==
        doctest::Approx(number_after(exact.out, "validation loss ")).epsilon(1e-3));
  CHECK(folder.read("rounded/last/model.safetensors") != folder.read("exact/last/model.safetensors"));
  CHECK(nlohmann::json::parse(folder.read("rounded/run.json"))["training"]["exchange"] == "bf16");
  CHECK_FALSE(nlohmann::json::parse(folder.read("exact/run.json"))["training"].contains("exchange"));
  const Outcome resumed = shell(mpirun(2) + "\"$WEFT\" train --resume " + (folder / "rounded") + " --steps 12");
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(sent(resumed) == doctest::Approx(sent(exact) / 2).epsilon(0.05));
  const Outcome three = shell(mpirun(3) + "\"$WEFT\" train --resume " + (folder / "rounded") + " --steps 13");
  CHECK(contains(three.err, "weft: 2 ranks began this run, and 3 continue it with bit-identical results; "));
  const Outcome alone = shell("\"$WEFT\" train --resume " + (folder / "rounded") + " --steps 14");
  CHECK(contains(
      alone.err,
      "weft: 3 ranks began this run, and 1 continues it with different results (--exchange bf16); 2 micro-batches "
      "per step\n"));
  CHECK(alone.code == 0);
  // One process rounds nothing. Of two ranks, the one that computes rounds what it sends.
  REQUIRE(shell(of("--arch gmlp") + (folder / "single") + " --exchange bf16 --micro-batches 1").code == 0);
  const Outcome both = shell(mpirun(2) + "\"$WEFT\" train --resume " + (folder / "single") + " --steps 8");
  CHECK(
      contains(both.err, "weft: 1 rank began this run, and 2 continue it with different results (--exchange bf16); "));
}

TEST_CASE_FIXTURE(Texts, "mpirun: one process under mpirun runs as without it, and other commands work under mpirun") {
  const Outcome one = shell(mpirun(1) + of("--arch gmlp") + (folder / "one"));
  CHECK(one.code == 0);
  CHECK_FALSE(contains(one.err, "ranks"));
  const Outcome two = shell(mpirun(2) + "\"$WEFT\" info --checkpoint " + (folder / "one"));
  CHECK(two.code == 0);
  CHECK(two.out.find("step ") != two.out.rfind("step "));  // each process prints its own steps
  const Outcome help = shell(mpirun(2) + "\"$WEFT\" train --help");
  CHECK(help.code == 0);
  CHECK(help.out.find("mpirun -n 4") == help.out.rfind("mpirun -n 4"));
}

}  // namespace weft::test
