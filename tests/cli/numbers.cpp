// Numbers and names on the command line: invalid ones are refused, with the range that the help page shows.
#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

// An option as the help page shows it.
struct PageOption {
  std::string name, type, meaning;
};

// Lines "  --name, --other TYPE  description" and their continuation lines.
std::vector<PageOption> options_of(const std::string& command) {
  std::vector<PageOption> options;
  std::istringstream page(weft(command + " --help").out);
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string word;
    if (line.rfind("  --", 0) == 0) {
      words >> word;
      options.push_back({word.substr(0, word.find(',')), "", ""});
      while (word.back() == ',') words >> word;
      words >> options.back().type;
    } else if (line.rfind("   ", 0) != 0) {
      continue;  // a group's title, or an example
    }
    while (!options.empty() && words >> word) options.back().meaning += " " + word;
  }
  return options;
}

const char* const commands[] = {"train", "classify", "fill-mask", "generate", "eval", "tokenizer train", "info"};

}  // namespace

TEST_CASE("every option that takes a number takes only decimal numbers within the range that its help shows") {
  int whole = 0, real = 0;
  for (const std::string command : commands)
    for (const PageOption& option : options_of(command)) {
      CAPTURE(command);
      CAPTURE(option.name);
      CHECK(option.type != "INT");  // the name for numbers that CLI11 reads itself
      CHECK(option.type != "UINT");
      CHECK(option.type != "FLOAT");
      if (option.type != "N" && option.type != "X") continue;
      std::vector<std::string> none = {"", "010", "0x10", "5x", " 5", "+5", "inf", "nan", "1e999", "-1"};
      if (option.type == "N") none.insert(none.end(), {"1.5", "1e3", "99999999999999999999"});
      for (const std::string& text : none) {
        const Outcome outcome = weft(command + " " + option.name + " '" + text + "'");
        CAPTURE(outcome.err);
        CHECK(fails_with(outcome, 2, "weft: " + option.name + ": expected a "));
        CHECK(contains(outcome.err, ", got \"" + text + "\""));
      }
      const std::string given = weft(command + " " + option.name + "=").err, in = " in decimal, ";
      CHECK(contains(given, "got \"\""));
      const std::size_t range = given.find(in) + in.size();
      CHECK(contains(option.meaning, "(" + given.substr(range, given.find(", got") - range)));
      ++(option.type == "N" ? whole : real);
    }
  CHECK(whole >= 23);
  CHECK(real >= 9);
}

TEST_CASE("no option takes an empty name, file or folder") {
  for (const std::string command : commands)
    for (const PageOption& option : options_of(command)) {
      CAPTURE(command);
      CAPTURE(option.name);
      if (option.type != "NAME" && option.type != "FILE" && option.type != "FOLDER") continue;
      if (option.name == "--resume") continue;  // its message says what it expects, with and without a name
      for (const std::string empty : {" ''", "="})
        CHECK(fails_with(weft(command + " " + option.name + empty), 2,
                         option.name + ": expected " + option.type + ", got nothing"));
    }
}

TEST_CASE("numbers at the ends of their ranges") {
  const auto refusal = [](const std::string& options) { return weft("train " + options).err; };
  CHECK(contains(refusal("--seed -1"), "whole number in decimal, at least 0, got \"-1\""));
  CHECK(contains(refusal("--steps 0"), "--steps: expected a whole number in decimal, at least 1, got \"0\""));
  CHECK(contains(refusal("--seed 18446744073709551616"), "at most 18446744073709551615, got"));
  CHECK(contains(refusal("--steps 9223372036854775808"), "at most 9223372036854775807, got"));
  CHECK(contains(refusal("--dropout 1"), "at least 0, below 1, got \"1\""));
  CHECK(contains(refusal("--lr 0"), "above 0, got \"0\""));
  CHECK(contains(refusal("--lr 1e-400"), "above 0, got \"1e-400\""));
  CHECK(contains(refusal("--lr-floor 1.01"), "0 to 1, got"));
  CHECK(contains(refusal("--beta1 1"), "at least 0, below 1, got"));
  CHECK(contains(refusal("--threads 1025"), "1 to 1024, got"));
  CHECK(refusal("--steps " + std::string(5000, '9')).size() < 300);
  // Allowed values: the error is then the missing required option.
  for (const std::string fits :
       {"--seed 18446744073709551615", "--seed 0", "--steps 9223372036854775807", "--dropout 0", "--dropout .5",
        "--lr 1e-300", "--lr-floor 0", "--lr-floor 1", "--threads 1024", "--batch 1", "--warmup 0", "--eps 0"})
    CHECK(contains(refusal(fits), "--out is required"));
}

TEST_CASE("a seed of twenty digits is that one") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const auto model = [&](const std::string& seed) {
    REQUIRE(weft("train --arch tnn --layers 1 --d-model 8 --seq-len 8 --steps 1 --overwrite --text " +
                 (folder / "text") + " --out " + (folder / "run") + " --seed " + seed)
                .code == 0);
    return folder.read("run/last/model.safetensors");
  };
  const std::string last = model("18446744073709551615");
  CHECK(last != model("18446744073709551614"));
  CHECK(last != model("9223372036854775807"));
  CHECK(last == model("18446744073709551615"));
}

TEST_CASE("--set takes values of its field's type") {
  const auto refused = [](const std::string& set, const std::string& part) {
    const Outcome outcome = weft("info --arch tnn --set '" + set + "'");
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, 2, "--set " + set + ": " + part));
  };
  for (const std::string text : {"", "010", "0x10", "5x", "1.5", "1e3", "+5", "two", "true", "99999999999999999999"})
    refused("layers=" + text, "expected a whole number in decimal");
  refused("layers=18446744073709551615", "expected a whole number in decimal, at most 9223372036854775807, got");
  for (const std::string text : {"", "00.5", "inf", "nan", "1e999", "0x1p3", "half"})
    refused("gamma=" + text, "expected a finite number in decimal, got \"" + text + "\"");
  for (const std::string text : {"", "1", "yes", "True"})
    refused("bias=" + text, "expected true or false, got \"" + text + "\"");
  refused("gama=0.5", "unknown config key \"gama\" of tnn; did you mean gamma?");
  refused("colour=3", "unknown config key \"colour\" of tnn, expected one of d_model, layers");
  CHECK(fails_with(weft("info --arch tnn --set layers=-1"), 1, "expected layers of 0"));
  const std::string out = weft("info --arch tnn --set layers=3 --set gamma=1e-1 --set bias=false --set act=gelu").out;
  for (const std::string part : {"\"layers\":3", "\"gamma\":0.1", "\"bias\":false", "\"act\":\"gelu\""})
    CHECK(contains(out, part));
}

TEST_CASE("numbers in config files") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& config, const std::string& part) {
    folder.write("config.json", config);
    const Outcome outcome = weft("info --arch gmlp --config " + (folder / "config.json"));
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, 1, part));
  };
  refused(R"({"layers": 18446744073709551615})",
          "\"layers\" has the wrong type: 18446744073709551615, expected a whole number below 2^63");
  refused(R"({"layers": 1.5})", "wrong type: 1.5, expected a whole number");
  refused(R"({"dropout": null})", "\"dropout\" has the wrong type: null, expected a number");
  refused(R"({"tied": 1})", "wrong type: 1, expected true or false");
  refused("{\"layers\": " + std::string(20, '[') + std::string(20, ']') + "}",
          "\"" + (folder / "config.json") + "\" is nested more than 16 deep");
}

}  // namespace weft::test
