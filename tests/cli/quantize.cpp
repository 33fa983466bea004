// Tests of weft quantize, and of commands on the checkpoints that it makes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "task_runs.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

// A run for each task, in a folder with its data.
struct RunOfEachTask {
  TemporaryFolder folder;

  RunOfEachTask() {
    folder.write("text", small_text());
    folder.write("csv", small_csv());
    const std::string train = "train --steps 30 --lr 0.01" + sizes + "--out ";
    REQUIRE(weft(train + at("lm") + " --arch tnn --text " + at("text")).code == 0);
    REQUIRE(weft(train + at("masked") + " --arch fnet --text " + at("text")).code == 0);
    REQUIRE(weft(train + at("rows") + " --arch gmlp --min-count 1 --csv " + at("csv")).code == 0);
  }
  std::string at(const std::string& name) const { return folder / name; }
};

// Returns the numbers in the table's line that begins with `label`.
std::vector<double> line_of(const std::string& out, const std::string& label) {
  const std::size_t begin = out.find("\n" + label + " ");
  if (begin == std::string::npos) return {};
  std::istringstream line(out.substr(begin + label.size() + 1, out.find('\n', begin + 1) - begin - label.size() - 1));
  std::vector<double> numbers;
  for (std::string word; line >> word;)
    if (word.find_first_of("0123456789") != std::string::npos) numbers.push_back(std::stod(word));
  return numbers;
}

}  // namespace

TEST_CASE("weft quantize: prints size, loss and metrics before and after, on the run's own data or on given data") {
  const RunOfEachTask runs;
  for (const std::string to : {"bf16", "int8", "int4"})
    for (const std::string run : {"lm", "masked", "rows"}) {
      CAPTURE(to);
      CAPTURE(run);
      const std::string out = run + to,
                        data = run == "rows" ? " --csv " + runs.at("csv") : " --text " + runs.at("text");
      const Outcome own = weft("quantize " + runs.at(run) + " --to " + to + " --out " + runs.at(out));
      CAPTURE(own.err);
      CAPTURE(own.out);
      REQUIRE(own.code == 0);
      const auto size = line_of(own.out, "model.safetensors"), loss = line_of(own.out, "loss");
      REQUIRE(size.size() == 3);
      CHECK(size[1] < size[0]);
      REQUIRE(loss.size() == 3);
      CHECK(std::abs(loss[1] - loss[0]) <= (to == "int4" ? 0.06 : to == "int8" ? 0.01 : 0.002) * loss[0] + 1e-4);
      CHECK(number_after(weft("info " + runs.at(out)).out, "validation loss ") ==
            doctest::Approx(loss[1]).epsilon(1e-3));
      CHECK(line_of(own.out, run == "rows" ? "accuracy" : "perplexity").size() == 3);
      CHECK(number_after(own.out, "parameters ") == number_after(weft("info " + runs.at(out)).out, "parameters "));

      const Outcome given =
          weft("quantize --overwrite " + runs.at(run) + " --to " + to + " --out " + runs.at(out) + data);
      CAPTURE(given.err);
      REQUIRE(given.code == 0);
      CHECK_FALSE(contains(weft("info " + runs.at(out)).out, "validation loss"));  // measured on other data
      const auto measured = line_of(given.out, "loss");
      REQUIRE(measured.size() == 3);
      const auto eval = [&](const std::string& which) {
        return number_after(weft("eval " + runs.at(which) + data).out, "test loss ");
      };
      CHECK(measured[0] == eval(run));
      CHECK(measured[1] == eval(out));
    }
}

TEST_CASE("weft quantize: commands on a quantized checkpoint compute in bf16 by default") {
  const RunOfEachTask runs;
  runs.folder.write("in", "red green blue\nnorth\n");
  runs.folder.write("gaps", "qu[mask]ck\n");
  for (const std::string to : {"bf16", "int8", "int4"}) {
    CAPTURE(to);
    for (const std::string run : {"lm", "masked", "rows"})
      REQUIRE(weft("quantize " + runs.at(run) + " --to " + to + " --out " + runs.at(run + to)).code == 0);
    const auto near = [&](const std::string& run, const std::string& command, const std::string& end,
                          const std::string& label) {
      CAPTURE(command);
      const auto ask = [&](const std::string& folder, const std::string& options = "") {
        const Outcome outcome = weft(command + " --json " + runs.at(folder) + " " + end + options);
        CHECK(outcome.code == 0);
        return number_after(outcome.out, label);
      };
      const double was = ask(run), is = ask(run + to);
      CHECK(is == ask(run + to, " --precision bf16"));
      CHECK(is == ask(run + to, " --threads 1"));
      CHECK(is != ask(run + to, " --precision f32"));
      CHECK(std::abs(is - was) < 0.03);
      CHECK(std::abs(ask(run + to, " --precision f32") - was) < 0.03);
    };
    near("lm", "eval", "--text " + runs.at("text"), "\"loss\":");
    near("rows", "eval", "--csv " + runs.at("csv"), "\"loss\":");
    near("rows", "classify", runs.at("in"), "\"probability\":");
    near("masked", "fill-mask --top 1", runs.at("gaps"), "\"probability\":");
    const Outcome text = weft("generate " + runs.at("lm" + to) + " --prompt line --tokens 50"),
                  three = weft("generate " + runs.at("lm" + to) + " --prompt line --tokens 50 --num-samples 3");
    CHECK(text.code == 0);
    CHECK(three.out.rfind(text.out, 0) == 0);
    const Outcome info = weft("info " + runs.at("lm" + to));
    CHECK(contains(info.out, "quantized " + to + ", for inference\nprecision bf16\n"));
    CHECK(contains(info.out, to == "int4" ? "  i4 " : to == "int8" ? "  i8 " : "  bf16 "));
  }
}

TEST_CASE("weft quantize: a forecast and a retrieval model, whose figures and results are near those of f32") {
  const TemporaryFolder folder;
  for (const TaskRun& of : task_runs(folder)) {
    if (of.task != "forecast" && of.task != "retrieval") continue;
    CAPTURE(of.task);
    const std::string run = folder / of.task;
    REQUIRE(weft("train --arch gmlp " + of.train + of.data + " --out " + run).code == 0);
    const auto ask = [&](const std::string& model) {
      const Outcome outcome = weft(of.ask + " " + model + " " + of.asked);
      CAPTURE(outcome.err);
      REQUIRE(outcome.code == 0);
      return numbers_in(outcome.out);
    };
    const auto eval = [&](const std::string& model) {
      return number_after(weft("eval --json " + model + " " + of.data).out, "\"" + of.metric + "\":");
    };
    const std::vector<double> was = ask(run);
    const double measured = eval(run);
    CHECK(measured > 0.9);
    for (const std::string to : {"int8", "int4"}) {
      CAPTURE(to);
      const std::string out = run + to;
      const Outcome own = weft("quantize " + run + " --to " + to + " --out " + out);
      CAPTURE(own.err);
      CAPTURE(own.out);
      REQUIRE(own.code == 0);
      CHECK(line_of(own.out, of.metric).size() == 3);
      CHECK(std::abs(eval(out) - measured) < 0.01);
      const double change = difference(ask(out), was);
      CHECK(change > 0);
      CHECK(change < (to == "int4" ? 0.2 : 0.02));
    }
  }
}

TEST_CASE("weft quantize --calibrate: the rounding depends on the given inputs, and not on the number of threads") {
  const RunOfEachTask runs;
  for (const std::string run : {"lm", "masked", "rows"}) {
    CAPTURE(run);
    const std::string file = run == "rows" ? "csv" : "text", out = run + "4";
    const auto bytes = [&](const std::string& options) {
      const Outcome made =
          weft("quantize " + runs.at(run) + " --overwrite --to int4 --out " + runs.at(out) + " " + options);
      CAPTURE(made.err);
      REQUIRE(made.code == 0);
      CHECK(line_of(made.out, "loss").size() == 3);
      return runs.folder.read(out + "/model.safetensors");
    };
    const std::string fitted = bytes("--threads 1 --calibrate " + runs.at(file));
    CHECK(fitted == bytes("--threads 2 --calibrate " + runs.at(file)));
    CHECK(fitted != bytes(""));
  }
}

TEST_CASE("weft quantize: refusals, which write nothing") {
  const RunOfEachTask runs;
  const std::string lm = runs.at("lm"), out = " --out " + runs.at("out");
  const auto refused = [&](const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = weft("quantize " + arguments);
    CAPTURE(arguments);
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, code, part));
    CHECK_FALSE(std::filesystem::exists(runs.at("out")));
  };
  refused(lm + " --to int2" + out, 2, "expected bf16, int8 or int4, got \"int2\"");
  refused(lm + out, 2, "give --to bf16, int8 or int4");
  refused(lm + " --to int8 --calibrate " + runs.at("text") + out, 2, "--calibrate needs --to int4, got --to int8");
  refused(lm + " --to int4 --calibrate " + runs.at("none") + out, 1, "none");
  refused(lm + " --to int8", 2, "give --out");
  refused("--to int8" + out, 2, "give the folder of a run or of a checkpoint");
  refused(runs.at("none") + " --to int8" + out, 1, "none");
  refused(lm + " --to int8" + out + " --text " + runs.at("none"), 1, "none");
  refused(lm + " --to int8" + out + " --data " + runs.at("csv"), 1, "give --text");
  refused(lm + " --to int8" + out + " --seq-len 4", 2, "--seq-len");
  refused(lm + " --to int8 --out " + lm, 1, "the checkpoint to be quantized");
  refused(lm + " --to int8 --overwrite --out " + lm + "/best/", 1, "the checkpoint to be quantized");
  refused(lm + " --to int8 --overwrite --out " + runs.at("rows"), 1, "the folder of a run");
  refused(lm + " --to int8 --overwrite --out " + lm + "/last", 1, "a checkpoint of the run");
  refused(lm + " --to int8 --out " + runs.at("text"), 1, "expected a folder");

  REQUIRE(weft("quantize " + lm + " --to int8 --out " + runs.at("lm8")).code == 0);
  const std::string bytes = runs.folder.read("lm8/model.safetensors");
  refused(lm + " --to bf16 --out " + runs.at("lm8"), 1, "--overwrite replaces it");
  CHECK(runs.folder.read("lm8/model.safetensors") == bytes);
  refused(runs.at("lm8") + " --to bf16" + out, 1, "is already quantized to int8");
  CHECK(fails_with(weft("train --from " + runs.at("lm8") + " --text " + runs.at("text") + sizes + "--steps 2" + out), 1,
                   "is quantized, so it can only be used for inference: use the original model"));
  CHECK_FALSE(std::filesystem::exists(runs.at("out/best")));
  REQUIRE(weft("quantize " + lm + " --overwrite --to bf16 --out " + runs.at("lm8")).code == 0);
  CHECK(contains(runs.folder.read("lm8/config.json"), "\"quantized\": \"bf16\""));
}

TEST_CASE("weft quantize: without data it only prints the sizes, and how to measure more") {
  const RunOfEachTask runs;
  std::filesystem::create_directories(runs.at("apart"));
  std::filesystem::copy(runs.at("lm/best"), runs.at("apart/model"));
  const Outcome apart = weft("quantize " + runs.at("apart/model") + " --to int8 --out " + runs.at("lm8"));
  CHECK(apart.code == 0);
  CHECK(contains(apart.err, "give --text"));
  CHECK(line_of(apart.out, "model.safetensors").size() == 3);
  CHECK(line_of(apart.out, "loss").empty());
  std::filesystem::remove(runs.at("csv"));
  const Outcome gone = weft("quantize " + runs.at("rows") + " --to int8 --out " + runs.at("rows8"));
  CHECK(gone.code == 0);
  CHECK(contains(gone.err, "csv\" no longer exists"));
  CHECK(contains(gone.err, "give --data"));
  CHECK(line_of(gone.out, "loss").empty());
  runs.folder.write("text", small_text() + "and more\n");
  CHECK(contains(weft("quantize " + runs.at("lm") + " --to int8 --out " + runs.at("changed")).err, "have changed"));
}

TEST_CASE(
    "weft quantize: a checkpoint that another process saves in --out meanwhile stays, unless --overwrite is set") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  REQUIRE(weft("train --arch tnn --steps 2 --text " + (folder / "text") + sizes + "--out " + (folder / "run")).code ==
          0);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const auto run = [&](const std::string& more) {
    const std::string arguments = "quantize " + (folder / "run") + " --to int8 --out " + (folder / "out");
    return shell("\"$WEFT\" " + arguments + " --text " + (folder / "pipe") + more, [&](const std::string&, int) {
      const int pipe = ::open((folder / "pipe").c_str(), O_WRONLY | O_NONBLOCK);  // works when weft waits for the text
      if (pipe < 0) return false;
      folder.write("out/config.json", "theirs");
      const std::string text = small_text();
      const ssize_t written = ::write(pipe, text.data(), text.size());
      ::close(pipe);
      return written == std::ssize(text);
    });
  };
  const Outcome refused = run("");
  CHECK(
      fails_with(refused, 1, "already contains a checkpoint, or a part of one (config.json): --overwrite replaces it"));
  CHECK(folder.read("out/config.json") == "theirs");
  CHECK(run(" --overwrite").code == 0);
  CHECK(folder.read("out/config.json") != "theirs");
}

}  // namespace weft::test
