// Tests of recipes: weft recipes, and weft train --recipe.
#include "options/recipes.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "idx_files.h"
#include "npy_files.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

using nlohmann::json;

const std::string root = WEFT_ROOT;

ModelSpec spec_of(const json& run) {
  const json &model = run.at("model"), &found = run.at("found");
  const Task task = task_from_name(model.at("task"));
  const std::int64_t outputs = found.at("outputs");
  InputSpec input;
  input.channels = found.value("channels", 0);
  input.height = found.value("height", 0);
  input.width = found.value("width", 0);
  input.patch = found.value("patch", 1);
  return {model.at("arch"),          task, found.at("symbols"), task_source(task) == Source::rows ? outputs : 0,
          model.at("config").dump(), input};
}

// Settings as the sources name them. "eps" of the optimizer is called "optimizer.eps" if the config has an "eps", too.
std::multiset<std::string> settings_of(const json& run) {
  std::multiset<std::string> names = {"arch", "task"};
  const json& config = run.at("model").at("config");
  for (const auto& each : config.items()) names.insert(each.key());
  for (const char* section : {"data", "training", "optimizer"})
    for (const auto& each : run.at(section).items())
      names.insert((config.contains(each.key()) ? section + std::string(".") : "") + each.key());
  return names;
}

// The inputs on which every recipe is trained here: texts in each format, tags, frames of numbers, a series, and
// pictures. Rows of numbers have 16 frames or patches.
class Inputs {
 public:
  Inputs() {
    folder.write("text", small_text());
    std::string news, listops = "Source\tTarget\n", tags = "text,label\n", series = "c0\n";
    std::vector<float> frames, labels;
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i % 4 + 1);
      news += "\"" + number + "\",\"title " + number + "\",\"some news of " + number + "\"\n";
      listops += "[MAX " + number + " 0 ]\t" + number + "\n";
      tags += "word " + number + ",lower Capital\n";
      for (int frame = 0; frame < 16; ++frame) frames.push_back(static_cast<float>((i + frame) % 4));
      labels.push_back(static_cast<float>(i % 4));
    }
    for (int row = 0; row < 400; ++row) series += std::to_string(row % 7) + "\n";
    folder.write("news", news);
    folder.write("listops", listops);
    folder.write("tags.csv", tags);
    folder.write("series.csv", series);
    folder.write("frames-x.npy", npy_file("(40, 16, 1)", frames));
    folder.write("frames-y.npy", npy_file("(40,)", labels));
  }
  std::string rows(const json& run) const {
    const json& data = run.at("data");
    if (data.contains("patch")) {
      const std::int64_t patch = data.at("patch");
      return write_pictures(folder, "patch" + std::to_string(patch), 0, 40, 4 * patch, 4 * patch);
    }
    if (run.at("model").at("task") == "tagging") return folder / "tags.csv";
    if (run.at("found").contains("channels")) return folder / "frames-x.npy";
    return folder / (data.at("format") == "csv" || data.at("format") == "auto" ? "news" : "listops");
  }
  std::string options(const json& run) const {
    if (task_source(task_from_name(run.at("model").at("task"))) == Source::text) return " --text " + (folder / "text");
    if (run.at("data").contains("frames")) return " --data " + (folder / "series.csv");
    const std::string path = rows(run);
    return " --data " + path + " --test " + path +
           (run.at("data").contains("validation") ? "" : " --validation " + path);
  }

  TemporaryFolder folder;
};

// Checks that the help page of each command has the options, and that an earlier command made the runs that it uses.
void check_commands(const json& commands) {
  std::set<std::string> made;
  for (const std::string command : commands) {
    CAPTURE(command);
    std::istringstream text(command);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    REQUIRE(words.size() > 2);
    REQUIRE(words[0] == "weft");
    const std::string page = weft(words[1] + (words[1] == "data" ? " " + words[2] : "") + " --help").out;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i].starts_with("--")) CHECK(contains(page, words[i] + " "));
      if (words[i] == "--out") made.insert(words[i + 1]);
    }
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::string folder = words[i].substr(0, words[i].find('/'));
      const bool is_run = std::all_of(folder.begin(), folder.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
      if (is_run || folder.starts_with("listops")) CHECK(made.count(folder) == 1);
    }
  }
}

}  // namespace

TEST_CASE("recipes: each complete file, with a source for every setting, is listed and shown") {
  std::set<std::string> files, names;
  for (const auto& file : std::filesystem::directory_iterator(root + "/tools/recipes"))
    if (file.path().extension() == ".json") files.insert(file.path().stem());
  const Outcome listed = weft("recipes");
  CHECK(listed.code == 0);
  std::ostringstream page;
  page << std::ifstream(root + "/tools/recipes/README.md").rdbuf();
  for (const Recipe& each : recipes()) {
    CAPTURE(each.name);
    names.insert(each.name);
    const json run = json::parse(each.json), &about = run.at("recipe");
    std::multiset<std::string> sourced;
    for (const json& source : about.at("sources"))
      for (const json& name : source.at("settings")) sourced.insert(name.get<std::string>());
    CHECK(sourced == settings_of(run));
    const ModelSpec spec = spec_of(run);
    const auto model = make_model(spec, {Random(1), DType::f32, nullptr, true});
    CHECK(json::parse(model->config()) == run.at("model").at("config"));
    CHECK(parameter_count(model->parameters()) == run.at("found").at("parameters"));
    CHECK(number_after(weft("info --recipe " + each.name).out, "\nparameters ") ==
          run.at("found").at("parameters").get<double>());
    check_commands(about.at("commands"));
    CHECK(contains(about.at("commands").dump(), "--recipe " + each.name + " "));
    for (const json& expected : about.at("expected"))
      CHECK(expected.contains("at least") + expected.contains("at most") == 1);
    CHECK(contains(listed.out, "  " + each.name + " "));
    CHECK(contains(page.str(), "`" + each.name + "`"));
    const Outcome shown = weft("recipes " + each.name);
    CHECK(shown.code == 0);
    std::string flat;  // without line breaks
    for (const char c : shown.out)
      if (c != '\n' && c != ' ') flat += c;
    for (const std::string& name : sourced) CHECK(contains(flat, name));
    CHECK(contains(shown.out, about.at("commands").front().get<std::string>()));
  }
  CHECK(names == files);
  CHECK(recipe_names().front() == "fnet-agnews");
  CHECK(contains(weft("recipes fnet-listops").out, "optimizer.eps 1e-09"));
}

TEST_CASE("recipes: a run has the settings of its recipe") {
  const Inputs inputs;
  for (const Recipe& each : recipes()) {
    CAPTURE(each.name);
    json expected = json::parse(each.json);
    const std::string arch = expected.at("model").at("arch");
    // Uses small sizes, because training would take too long otherwise.
    json& config = expected.at("model").at("config");
    config["layers"] = 1;
    config["d_model"] = 8;
    config["seq_len"] = 16;
    expected["training"]["steps"] = 2;
    expected["training"]["batch"] = 2;
    std::string small = " --layers 1 --d-model 8 --seq-len 16 --steps 2 --batch 2 --threads 1";
    if (arch == "tnn") {
      config["glu_dim"] = 8;
      small += " --set glu_dim=8";
    } else {
      config["d_ffn"] = 16;
      small += " --d-ffn 16";
    }
    if (expected["data"].value("pad-to", "exact") != "exact") {
      expected["data"]["pad-to"] = "16";
      small += " --pad-to 16";
    }
    const std::string run = inputs.folder / each.name;
    const Outcome trained = weft("train --recipe " + each.name + inputs.options(expected) + small + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    json got = json::parse(inputs.folder.read(each.name + "/run.json"));
    for (const char* users : {"text", "data", "test"}) got["data"].erase(users);
    if (!expected["data"].contains("validation")) got["data"].erase("validation");
    for (const char* section : {"model", "data", "training", "optimizer"}) {
      CAPTURE(section);
      CHECK(got.at(section).dump(1) == expected.at(section).dump(1));
    }
    CHECK(weft("train --resume " + run + " --steps 3 --threads 1").code == 0);
  }
}

TEST_CASE("recipes: other options override them, and another optimizer has its own settings") {
  const Inputs inputs;
  const std::string train = "train --recipe fnet-listops --layers 1 --d-model 8 --d-ffn 16 --steps 2 --data " +
                            (inputs.folder / "listops") + " --threads 1 --overwrite --out " + (inputs.folder / "run");
  const auto settings = [&](const std::string& options) {
    const Outcome trained = weft(train + options);
    CAPTURE(trained.err);
    CHECK(trained.code == 0);
    return json::parse(inputs.folder.read("run/run.json"));
  };
  const json other = settings(" --lr 0.25 --optimizer sgd --schedule constant --pad-to 12 --columns text=1,label=2");
  CHECK(other.at("training").at("lr") == 0.25);
  CHECK(other.at("training").at("warmup") == 1000);
  CHECK(other.at("optimizer").at("optimizer") == "sgd");
  CHECK_FALSE(other.at("optimizer").contains("beta2"));
  CHECK(other.at("data").at("pad-to") == "12");
  CHECK(other.at("data").at("columns") == "text=1,label=2");
  CHECK(settings(" --set norm=pre").at("model").at("config").at("norm") == "pre");
  const json as_it_is = settings(""), same = settings(" --optimizer adamw --schedule inverse-sqrt");
  CHECK(same.at("optimizer") == as_it_is.at("optimizer"));
  CHECK(same.at("training") == as_it_is.at("training"));
  CHECK(settings(" --optimizer adam").at("optimizer").at("clip") == as_it_is.at("optimizer").at("clip"));
  CHECK(as_it_is.at("optimizer").at("clip") != 1);  // the value without a recipe
  const json noam = settings(" --schedule noam").at("training");
  CHECK(noam.at("lr") == 1);
  CHECK(noam.at("warmup") == 2000);
}

TEST_CASE("recipes: a model of numbers, and the same settings for a text") {
  const Inputs inputs;
  const std::string small = " --layers 1 --d-model 8 --steps 1 --batch 2 --threads 1";
  const std::string pictures = write_pictures(inputs.folder, "small", 0, 40, 8, 12), run = inputs.folder / "run";
  REQUIRE(weft("train --recipe tnn-fashion --data " + pictures + small + " --seq-len 6 --out " + run).code == 0);
  const json found = json::parse(inputs.folder.read("run/run.json")).at("found");
  CHECK(found.at("height") == 8);
  CHECK(found.at("width") == 12);
  CHECK(found.at("patch") == 4);
  const Outcome info = weft("info --config " + run + "/run.json");
  CHECK(number_after(info.out, "\nparameters ") == found.at("parameters").get<double>());
  const Outcome text = weft("train --recipe gmlp-fashion --task causal-lm --best-by loss --text " +
                            (inputs.folder / "text") + small + " --seq-len 16 --out " + (inputs.folder / "text-run"));
  CAPTURE(text.err);
  CHECK(text.code == 0);
}

TEST_CASE("recipes: rows are padded to the length of other sequences") {
  const Inputs inputs;
  const Outcome trained = weft(
      "train --recipe fnet-agnews --layers 1 --d-model 8 --d-ffn 16 --seq-len 16 --steps 1 --threads 1"
      " --data " +
      (inputs.folder / "news") + " --out " + (inputs.folder / "run"));
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "sequences of 16 "));
}

TEST_CASE("recipes: a run may start with another run's parameters and tokenizer") {
  const Inputs inputs;
  const std::string rows = " --data " + (inputs.folder / "listops"), first = inputs.folder / "first";
  const std::string train =
      "train --recipe fnet-listops --layers 1 --d-model 8 --d-ffn 16 --schedule constant --threads 1" + rows +
      " --validation " + (inputs.folder / "listops");
  REQUIRE(weft(train + " --tokenizer words --lr 0.01 --steps 30 --out " + first).code == 0);
  const Outcome trained =
      weft(train + " --from " + first + " --lr 1e-30 --steps 1 --out " + (inputs.folder / "second"));
  CAPTURE(trained.err);
  REQUIRE(trained.code == 0);
  const json run = json::parse(inputs.folder.read("second/run.json"));
  CHECK(run.at("optimizer").at("beta2") == 0.98);
  CHECK_FALSE(run.at("data").contains("tokenizer"));
  CHECK(load_checkpoint(inputs.folder / "second").tokenizer->to_json() == load_checkpoint(first).tokenizer->to_json());
  CHECK(number_after(trained.out, "validation loss ") ==
        doctest::Approx(number_after(weft("eval " + first + rows).out, "test loss ")));
}

TEST_CASE("recipes: refusals are one line") {
  const Inputs inputs;
  const std::string out = " --out " + (inputs.folder / "run"), text = " --text " + (inputs.folder / "text");
  const std::string gmlp = "train --recipe gmlp-shakespeare-small ";
  CHECK(fails_with(weft("train --recipe gmlp-shakespere" + text + out), 2,
                   "--recipe: unknown recipe \"gmlp-shakespere\"; did you mean gmlp-shakespeare?"));
  CHECK(fails_with(weft("recipes zebra"), 2, "unknown recipe \"zebra\", expected one of fnet-agnews, "));
  CHECK(fails_with(weft("train --recipe zebra --help"), 2, "unknown recipe \"zebra\", expected one of"));
  CHECK(fails_with(weft(gmlp + out), 2, "the recipe gmlp-shakespeare-small needs --text FILE: tiny Shakespeare"));
  CHECK(fails_with(weft("train --recipe tnn-listops" + out), 2, "the recipe tnn-listops needs --data FILE"));
  CHECK(fails_with(weft(gmlp + out + " --data " + (inputs.folder / "news")), 2, "the task causal-lm needs --text"));
  CHECK(fails_with(weft(gmlp + text + " --from " + (inputs.folder / "x") + out), 1, "/x"));
  CHECK(fails_with(weft(gmlp + text + " --resume " + (inputs.folder / "x")), 2, "leave out --recipe"));
  CHECK(fails_with(weft(gmlp + text + " --arch gmlp" + out), 2, "--recipe"));
  CHECK(fails_with(weft(gmlp + text + " --config " + (inputs.folder / "text") + out), 2, "--recipe"));
  CHECK(fails_with(weft(gmlp + text + " --pad-to exact" + out), 2, "--pad-to requires --data"));
  CHECK_FALSE(std::filesystem::exists(inputs.folder / "run"));
}

TEST_CASE("recipes: --help with a recipe shows its settings and their sources") {
  const std::string plain = weft("train --help").out, page = weft("train --recipe tnn-listops --help").out;
  CHECK(contains(plain, "fnet-agnews-small"));
  CHECK(contains(plain, "Ctrl-C saves"));
  CHECK(contains(page, "script_lra.py"));
  CHECK(contains(page, "lr 0.0005"));
  CHECK(contains(page, weft("recipes tnn-listops").out));
}

}  // namespace weft::test
