// Tests of weft report: the contents of its page, and refusals. tests/report checks the page in a browser.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "command.h"
#include "drawn_cells.h"
#include "random_parameters.h"
#include "report/json.h"
#include "report/learned.h"
#include "report/page.h"
#include "report/run.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/gmlp.h"
#include "weft/tnn.h"

namespace weft::test {
namespace {

using report::Json;

struct Reports {
  Reports() {
    folder.write("text", small_text());
    folder.write("csv", small_csv());
  }
  std::string data(const std::string& kind) const { return " --" + kind + " " + (folder / kind); }
  void train(const std::string& arch, const std::string& kind, const std::string& out, const std::string& more = "") {
    const Outcome outcome = weft("train --arch " + arch + data(kind) + sizes + "--steps 3 --eval-every 2 " + more +
                                 " --out " + (folder / out));
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
  }
  // Returns the data in the page that weft report writes.
  Json page(const std::string& arguments) const {
    const Outcome outcome = weft("report " + arguments + " --out " + (folder / "page.html") + " --overwrite");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out == "report " + (folder / "page.html") + "\n");
    const std::string html = folder.read("page.html"), begin = "id=\"data\">";
    const std::size_t at = html.find(begin) + begin.size();
    return Json::parse(html.substr(at, html.find("</script>", at) - at));
  }
  Json run(const std::string& arguments) const { return page(arguments)["runs"][0]; }
  bool noted(const Json& run, const std::string& text) const {
    for (const Json& note : run["notes"])
      if (contains(note.get<std::string>(), text)) return true;
    return false;
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("report: numbers and grids as the page reads them") {
  CHECK(report::number(0.1234567).dump() == "0.123457");
  CHECK(report::number(1e20).dump() == "1e+20");
  CHECK(report::number(123456789).dump() == "123456789");
  CHECK(report::numbers({1, std::nan(""), INFINITY}).dump() == "[1,null,null]");
  report::Grid small = report::grid(2, 3, std::nan(""));
  small.at(0, 1) = -2;
  small.at(1, 2) = 1;
  const std::vector<double> drawn = drawn_cells(report::drawn_grid(small));
  REQUIRE(drawn.size() == 6);
  CHECK(std::isnan(drawn[0]));
  CHECK(drawn[1] == -2);
  CHECK(drawn[5] == doctest::Approx(1).epsilon(1e-4));
  report::Grid large = report::grid(300, 128);
  for (std::size_t i = 0; i < 300; ++i)
    for (std::size_t j = 0; j < 128; ++j) large.at(i, j) = static_cast<double>(i);
  large.at(3, 0) = std::nan("");
  const Json grid = report::drawn_grid(large);
  CHECK(grid["rows"] == 100);
  CHECK(grid["row_pool"] == 3);
  CHECK(grid["columns"] == 128);
  CHECK(drawn_cells(grid)[1] == doctest::Approx(1).epsilon(1e-2));
  CHECK(drawn_cells(grid)[128] == doctest::Approx(4.5).epsilon(1e-2));  // the mean of 4 and 5
  CHECK(drawn_cells(grid).back() == doctest::Approx(298).epsilon(1e-4));
  CHECK(drawn_cells(report::drawn_grid(report::grid(1, 2))) == std::vector<double>{0, 0});
}

TEST_CASE("report: title and data never become markup, and the page is recognized as a report") {
  const Json data{{"a", "</script><!-- <b> & \"ü\xff{{data}}"}};
  const std::string page = report::page("<i>\"&\xff{{script}}", data);
  CHECK(contains(page, "<title>&lt;i&gt;&quot;&amp;\xEF\xBF\xBD{{script}}</title>"));
  CHECK(contains(page, "\\u003c/script>\\u003c!-- \\u003cb> & \\\"ü\xEF\xBF\xBD{{data}}"));
  CHECK(page.find("</script>") != std::string::npos);
  for (const char* left : {"{{title}}", "{{style}}", "{{version}}"}) CHECK_FALSE(contains(page, left));
  CHECK(report::is_page(page));
  CHECK_FALSE(report::is_page("<html></html>"));
}

TEST_CASE("report: names that distinguish runs") {
  CHECK(report::run_names({"a/x", "b/y/"}) == std::vector<std::string>{"x", "y"});
  CHECK(report::run_names({"a/x", "b/x", "z"}) == std::vector<std::string>{"a/x", "b/x", "z"});
}

TEST_CASE_FIXTURE(Reports, "report of one run: its settings, curves, sample, and a page next to the run") {
  train("gmlp", "text", "run", "--split 90/10/0");
  const Outcome outcome = weft("report " + (folder / "run") + " --title 'A <title>'");
  CHECK(outcome.out == "report " + (folder / "run") + "/report.html\n");
  CHECK(contains(folder.read("run/report.html"), "<title>A &lt;title&gt;</title>"));
  CHECK(weft("report " + (folder / "run")).code == 0);  // replaces the report
  CHECK(contains(folder.read("run/report.html"), "<title>run</title>"));
  const Json run = this->run((folder / "run") + " --tokens 40 --seed 3");
  CHECK(run["name"] == "run");
  CHECK(run["arch"] == "gmlp");
  CHECK(run["task"] == "causal-lm");
  CHECK(run["steps"] == 3);
  CHECK(run["settings"]["training: batch"] == "4");
  CHECK(run["settings"]["model: config: d_model"] == "16");
  CHECK(run["metrics"]["training"]["step"].dump() == "[1,2,3]");
  CHECK(run["metrics"]["evaluations"]["step"].dump() == "[2,3]");
  CHECK(run["metrics"]["last_step"] == 3);
  const Json& best = run["metrics"]["best"];
  CHECK(best["perplexity"].get<double>() ==
        doctest::Approx(std::exp(best["validation_loss"].get<double>())).epsilon(1e-5));
  CHECK(best["bits_per_byte"].get<double>() ==
        doctest::Approx(number_after(weft("eval --batch 4 " + (folder / "run") + data("text")).out, "\nbits per byte "))
            .epsilon(1e-4));
  CHECK(run["metrics"]["test"].is_null());
  CHECK(run["notes"].empty());
  const std::string generated = weft("generate " + (folder / "run") + " --tokens 40 --seed 3 --temperature 0.8").out;
  CHECK(run["sample"]["text"].get<std::string>() + "\n" == generated);
  CHECK(this->run((folder / "run") + " --tokens 40 --seed 4")["sample"]["text"] != run["sample"]["text"]);
  const Json curves = this->run((folder / "run") + " --curves-only");
  CHECK(curves["sample"].is_null());
  CHECK(curves["learned"].is_null());
  CHECK(curves["metrics"] == run["metrics"]);
}

TEST_CASE_FIXTURE(Reports, "report of gMLP: the gating matrices are the model's, causal or not") {
  for (const std::string kind : {"text", "csv"}) {
    CAPTURE(kind);
    train("gmlp", kind, kind + "-run");
    const Json learned = run(folder / (kind + "-run"))["learned"];
    const Checkpoint checkpoint = load_checkpoint(folder / (kind + "-run"));
    const auto& model = dynamic_cast<const Gmlp&>(*checkpoint.model);
    CHECK(learned["kind"] == "gating");
    CHECK(learned["causal"] == (kind == "text"));
    CHECK(learned["length"] == 8);
    const std::vector<double> drawn = drawn_cells(learned["layers"][0]["matrix"]);
    const auto weight = model.blocks()[0].sgu.weight.value().to_vector<float>();
    double next = 0;  // the mean of |W[i, i-1]|
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        if (j > i && kind == "text") CHECK(std::isnan(drawn[i * 8 + j]));
        else CHECK(drawn[i * 8 + j] == doctest::Approx(weight[i * 8 + j]).epsilon(1e-3));
        if (i == j + 1) next += std::abs(weight[i * 8 + j]) / 7;
      }
    const std::size_t one = kind == "text" ? 1 : 8;
    CHECK(learned["distances"][one] == 1);
    CHECK(learned["layers"][0]["by_distance"][one].get<double>() == doctest::Approx(next).epsilon(1e-4));
    const double share = learned["layers"][0]["toeplitz_share"];
    CHECK(share > 0);
    CHECK(share < 0.9);  // training has hardly changed the initial weights
  }
}

TEST_CASE("report of gMLP: the Toeplitz share is computed from the mean of each diagonal") {
  const auto share_of = [](Task task, const std::vector<float>& weight) {
    const auto model = make_model({"gmlp", task, 5, 2, R"({"layers":1,"d_model":4,"seq_len":3})"}, {Random(3)});
    Parameter(dynamic_cast<const Gmlp&>(*model).blocks()[0].sgu.weight).assign(Tensor::from(weight, {3, 3}));
    return report::learned_weights(*model, 3)["layers"][0]["toeplitz_share"].get<double>();
  };
  CHECK(share_of(Task::masked_lm, {1, 2, 3, 4, 1, 2, 5, 4, 1}) == 1);
  CHECK(share_of(Task::masked_lm, {2, 2, 2, 2, 2, 2, 2, 2, 2}) == 1);
  // The diagonals are (5), (4, 6), (1, 2, 3), (0, 0), (3). The mean of all elements is 24/9. The sum of the squared
  // deviations is 36 from this mean, but only 2 + 2 from the means of the diagonals.
  CHECK(share_of(Task::masked_lm, {1, 0, 3, 4, 2, 0, 5, 6, 3}) == doctest::Approx(1 - 4.0 / 36).epsilon(1e-5));
  // Only elements on and below the diagonal count. The sum of their squared deviations is 17.5 from their mean of 21/6,
  // but only 4 from the means of the diagonals.
  CHECK(share_of(Task::causal_lm, {1, 9, 9, 4, 2, 9, 5, 6, 3}) == doctest::Approx(1 - 4.0 / 17.5).epsilon(1e-5));
}

TEST_CASE_FIXTURE(Reports, "report of TNN: the coefficients are those of the model, including their decay") {
  train("tnn", "text", "run", "--set gamma=0.9");
  const Json learned = run(folder / "run")["learned"];
  const Checkpoint checkpoint = load_checkpoint(folder / "run");
  const auto& model = dynamic_cast<const Tnn&>(*checkpoint.model);
  const Tensor t = model.layers()[0].token_mixer().toep().coefficients(8);  // (8, channels)
  const auto x = t.to_vector<float>();
  const std::size_t channels = x.size() / 8;
  CHECK(learned["kind"] == "toeplitz");
  CHECK(learned["gamma"] == 0.9);
  CHECK(learned["channels"] == channels);
  CHECK(learned["lags"].dump() == "[0,1,2,3,4,5,6,7]");
  const std::vector<double> drawn = drawn_cells(learned["layers"][0]["matrix"]);
  CHECK(drawn.size() == x.size());
  for (std::size_t k = 0; k < 8; ++k) {
    double squares = 0, shown = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      squares += std::pow(x[k * channels + c], 2);
      shown += std::pow(drawn[c * 8 + k], 2);
    }
    const double rms = std::sqrt(squares / static_cast<double>(channels));
    CHECK(learned["layers"][0]["rms"][k].get<double>() == doctest::Approx(rms).epsilon(1e-4));
    CHECK(shown == doctest::Approx(squares).epsilon(1e-2));  // the channels are in a different order
  }
  const auto mean_lag = [&](std::size_t row) {
    double weighted = 0, sum = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      weighted += std::abs(drawn[row * 8 + k]) * static_cast<double>(k);
      sum += std::abs(drawn[row * 8 + k]);
    }
    return weighted / sum;
  };
  for (std::size_t row = 1; row < channels; ++row) CHECK(mean_lag(row - 1) <= mean_lag(row) + 0.05);
  train("tnn", "csv", "both", "--set use_decay=false --set use_multi_decay=true --set gamma=0.5");
  const Json other = run(folder / "both")["learned"];
  CHECK(other["lags"].size() == 15);
  CHECK(other["lags"][0] == -7);
  CHECK(other["gamma"].is_null());
  const Json gammas = other["layers"][0]["gammas"];
  CHECK(gammas[0].get<double>() > 0.5);
  CHECK(gammas[0].get<double>() < gammas[1].get<double>());
  CHECK(gammas[2].get<double>() < 1);
}

TEST_CASE("report of TNN: the channels that look nearest come first, into the past or the future") {
  const auto model = make_model({"tnn", Task::classifier, 5, 2, R"({"layers":1,"d_model":8,"heads":1,"gamma":1})"},
                                {Random(3), DType::f32});
  randomize(model->parameters());
  const Json learned = report::learned_weights(*model, 8);
  const std::vector<double> drawn = drawn_cells(learned["layers"][0]["matrix"]);  // lags -7 … 7
  double before = 0;
  std::size_t future = 0, past = 0;
  for (std::size_t row = 0; row < drawn.size() / 15; ++row) {
    double distance = 0, lag = 0, sum = 0;
    for (int k = -7; k <= 7; ++k) {
      const double size = std::abs(drawn[row * 15 + static_cast<std::size_t>(k + 7)]);
      distance += size * std::abs(k);
      lag += size * k;
      sum += size;
    }
    CHECK(distance / sum >= before - 1e-3);
    before = distance / sum;
    ++(lag < 0 ? future : past);
  }
  CHECK(future > 1);
  CHECK(past > 1);
}

TEST_CASE_FIXTURE(Reports, "report of FNet: shares, frequencies that add up, influence of each token") {
  for (const std::string norm : {"post", "pre"}) {
    CAPTURE(norm);
    train("fnet", "csv", norm, "--set norm=" + norm);
    const Json mixing = run(folder / norm)["mixing"], layer = mixing["layers"][0];
    CHECK(mixing["kind"] == "fourier");
    CHECK(mixing["length"] == 8);
    CHECK(layer["by_frequency"].size() == 5);
    double sum = 0;  // frequencies 0 and 4 occur once; every other k also stands for 8 - k
    for (std::size_t k = 0; k < 5; ++k) sum += layer["by_frequency"][k].get<double>() * (k % 4 == 0 ? 1 : 2);
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));
    for (const char* share : {"mixing_share", "network_share"}) {
      CHECK(layer[share].get<double>() > 0);
      CHECK(layer[share].get<double>() < 1);
    }
    CHECK(layer["mixing_share"].get<double>() > 0.9);  // it is a sum over 8 tokens and 16 channels
    CHECK(layer["influence"]["rows"] == 8);
    CHECK(layer["influence"]["columns"] == 8);
    for (const double change : drawn_cells(layer["influence"])) CHECK(change > 0);
  }
}

TEST_CASE_FIXTURE(Reports,
                  "report of a classifier: the confusion matrix agrees with eval, and errors are of its cells") {
  train("gmlp", "csv", "run", "--validation " + (folder / "csv"));
  const Json run = this->run(folder / "run"), sample = run["sample"];
  CHECK(sample["rows"] == 60);
  CHECK(sample["of"] == 60);
  CHECK(sample["labels"].dump() == R"(["1","2","3"])");
  std::int64_t rows = 0, right = 0, wrong = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto count = sample["counts"][i][j].get<std::int64_t>();
      rows += count;
      (i == j ? right : wrong) += count;
    }
  CHECK(rows == 60);
  const Outcome eval = weft("eval " + (folder / "run") + data("csv"));
  CHECK(number_after(eval.out, "accuracy ") == doctest::Approx(100.0 * static_cast<double>(right) / 60).epsilon(1e-3));
  CHECK(sample["scores"][0]["actual"] == 20);
  CHECK(sample["examples"].empty() == (wrong == 0));
  double before = 1;
  for (const Json& example : sample["examples"]) {
    CHECK(example["actual"] != example["predicted"]);
    CHECK(sample["counts"][example["actual"].get<std::size_t>()][example["predicted"].get<std::size_t>()] > 0);
    CHECK(example["probability"].get<double>() <= before);
    before = example["probability"].get<double>();
    const std::string text = example["text"];
    const char* first[] = {"red", "one", "north"};
    CHECK(contains(text, first[example["actual"].get<std::size_t>()]));
  }
  const Json some = this->run((folder / "run") + " --rows 30")["sample"];
  CHECK(some["rows"] == 30);
  CHECK(some["of"] == 60);
  CHECK(some["scores"][0]["actual"] == 10);  // the report uses every other row
}

TEST_CASE_FIXTURE(Reports, "report without the data or with other data: the page says so, and has everything else") {
  train("gmlp", "csv", "run");
  train("fnet", "text", "masked", "--task masked-lm");
  CHECK(run(folder / "masked")["sample"]["masked"] > 0);
  train("fnet", "csv", "dropped", "--word-dropout 0.5");
  CHECK_FALSE(noted(run(folder / "dropped"), "The data file has changed"));
  folder.write("csv", small_csv() + "\"1\",\"\",\"one more\"\n");
  CHECK(noted(run(folder / "run"), "The data file has changed"));
  std::filesystem::remove(folder / "csv");
  std::filesystem::remove(folder / "text");
  const Json rows = run(folder / "run"), masked = run(folder / "masked");
  CHECK(noted(rows, "the data file \"" + (folder / "csv") + "\" no longer exists"));
  CHECK(rows["sample"].is_null());
  CHECK(rows["learned"]["kind"] == "gating");
  CHECK(noted(masked, "no longer exists"));
  CHECK(masked["mixing"].is_null());
}

TEST_CASE_FIXTURE(Reports, "report of an unfinished run: nothing yet, no checkpoint, a damaged checkpoint") {
  train("gmlp", "text", "run");
  folder.write("new/run.json", folder.read("run/run.json"));
  const Json fresh = run(folder / "new");
  CHECK(fresh["metrics"]["last_step"].is_null());
  CHECK(noted(fresh, "No model: "));
  folder.write("run/metrics.jsonl", "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"lo");
  CHECK(run(folder / "run")["metrics"]["last_step"] == 1);
  folder.write("run/best/model.safetensors", "damaged");
  const Json damaged = run(folder / "run");
  CHECK(noted(damaged, "model.safetensors"));
  CHECK(damaged["metrics"]["last_step"] == 1);
  const Json both = page((folder / "run") + " " + (folder / "new"));
  CHECK(both["title"] == "run, new");
  CHECK(both["runs"][1]["name"] == "new");
}

TEST_CASE_FIXTURE(Reports, "report refuses folders that are not runs, damaged runs, and files that aren't reports") {
  train("gmlp", "text", "run");
  folder.write("mine.html", "mine");
  folder.write("empty/file", "");
  const std::string run = folder / "run";
  const auto refused = [&](const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = weft("report " + arguments);
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, code, part));
  };
  refused("", 2, "give the folders of one or more runs");
  refused("''", 2, "expected FOLDER, got nothing");
  refused(folder / "none", 1, "none\", which doesn't exist");
  refused(folder / "text", 1, "expected the folder of a run, got the file \"");
  refused(folder / "empty", 1, "empty\", which has no run.json");
  refused(run + "/best", 1, "which belongs to the run \"" + run + "\"");
  refused(run + " " + (folder / "empty"), 1, "empty\", which has no run.json");
  refused(run + " " + run + "/.", 1, "is given twice");
  refused(run + " --out " + (folder / "mine.html"), 1, "mine.html\" already exists and is not a report: --overwrite");
  refused(run + " --out " + run + "/metrics.jsonl --overwrite", 1, "which is in the run's folder");
  refused(run + " --out " + (folder / "empty"), 1, "--out names the folder");
  refused(run + " --rows 0", 2, "--rows");
  CHECK(folder.read("mine.html") == "mine");
  CHECK(weft("report " + run + " --overwrite --out " + (folder / "mine.html")).code == 0);
  folder.write("run/metrics.jsonl", "{\"step\":1,\"loss\":2.5}\nx\n{\"step\":2}\n");
  refused(run, 1, "run/metrics.jsonl\" line 2: expected a JSON object, got \"x\"");
  folder.write("run/run.json", "{");
  refused(run, 1, "run/run.json\" is damaged");
}

}  // namespace weft::test
