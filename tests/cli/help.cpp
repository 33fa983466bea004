// Tests of what weft prints about itself and about unknown commands and options.
#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "command.h"
#include "temporary_folder.h"
#include "tools/console/arguments.h"
#include "tools/console/nearest.h"

namespace weft::test {
namespace {

// Returns the subcommands that weft --help lists.
std::vector<std::string> listed_commands() {
  std::vector<std::string> commands;
  bool here = false;
  for (const std::string& line : lines_of(weft("--help").out)) {
    if (here && line.empty()) break;
    if (here) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    if (line == "Subcommands:") here = true;
  }
  return commands;
}

// Returns the words from the option's name to the next option.
std::string entry(const std::string& page, const std::string& name) {
  std::string words;
  bool here = false;
  for (const std::string& line : lines_of(page)) {
    if (line.rfind("  -", 0) == 0) here = line.rfind("  " + name, 0) == 0;
    if (line.rfind("  ", 0) != 0) here = false;
    std::istringstream stream(line);
    for (std::string word; here && stream >> word;) words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

}  // namespace

TEST_CASE("help pages: every command has one of at most 100 columns, with an example") {
  const std::vector<std::string> commands = listed_commands();
  CHECK(commands.size() >= 5);
  for (const std::string& command : commands) {
    CAPTURE(command);
    const Outcome help = weft(command + " --help");
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK(contains(help.out, "Example"));
    CHECK(contains(help.out, "\n  weft " + command));
    for (const std::string& line : lines_of(help.out)) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
    CHECK(weft("help " + command).out == help.out);
    CHECK(weft(command + " -h").out == help.out);
  }
  for (const std::string& line : lines_of(weft("--help").out)) CHECK(line.size() <= 100);
  CHECK(weft("help").out == weft("--help").out);
}

TEST_CASE("help pages: each option states which options it requires and excludes, its range and its default") {
  const std::string page = weft("train --help").out;
  CHECK_FALSE(contains(page, "Excludes"));
  CHECK_FALSE(contains(page, "Needs"));
  CHECK_FALSE(contains(page, "REQUIRED"));
  CHECK(contains(entry(page, "--text"), "a language model on. Not with --data"));
  CHECK(contains(entry(page, "--test"), ". Only with --data"));
  CHECK(contains(entry(page, "--from"), ". Not with --min-count, --positions, --tokenizer, --vocabulary-size"));
  CHECK(contains(entry(page, "--steps"),
                 "--steps N Number of steps (at least 1; default: 5 epochs, but at least 1000 steps for rows and 2000 "
                 "for a text (up to 100 epochs), and at most 20000 steps (or one epoch of rows, if that is more))"));
  CHECK(contains(entry(page, "--clip"), "(at least 0; default: 1)"));
  CHECK(contains(entry(page, "--optimizer"), "(default: adamw)"));
  CHECK(contains(entry(page, "--beta2"), "(at least 0, below 1; default: adamw 0.99, adam 0.999, lion 0.99)"));
  const std::string lion = weft("train --optimizer lion --help").out;
  CHECK(contains(entry(lion, "--optimizer"), "adamw, adam, sgd, lion, muon, adafactor"));
  CHECK(contains(entry(lion, "--beta1"), "lion 0.9)"));
  CHECK(contains(entry(lion, "--weight-decay"), "lion 1, muon 0.1, adafactor 0)"));
  CHECK(contains(entry(lion, "--lr"),
                 "2e-3 for a text, 1e-3 for rows; multiplied by 0.1 for lion; multiplied by 20 for adafactor; for the "
                 "schedule noam, a factor of 1)"));
  CHECK(contains(entry(page, "--eval-every"), "--eval-every, --save-every N Number of steps between"));
  CHECK(contains(entry(page, "--resume"), "--resume FOLDER Continue"));
  CHECK_FALSE(contains(page, "\n\n\n"));
}

TEST_CASE("an unknown command exits with 2, even with --help, and the error names the nearest command") {
  for (const std::string typed :
       {"tarin", "tarin --help", "--help tarin", "help tarin", "trian --steps 3", "train2", "-h tarin"}) {
    CAPTURE(typed);
    CHECK(fails_with(weft(typed), 2, "unknown command \"t"));
    CHECK(contains(weft(typed).err, "did you mean train?"));
  }
  CHECK(fails_with(weft("gen"), 2, "unknown command \"gen\"; did you mean generate?"));
  CHECK(fails_with(
      weft("zebra --help"), 2,
      "unknown command \"zebra\", expected one of train, tune, classify, predict, embed, nearest, "
      "fill-mask, generate, serve, eval, report, page, tokenizer, quantize, average, convert, info, recipes, data"));
  CHECK(fails_with(weft("predict-prob model"), 2, "did you mean classify?"));
  CHECK(fails_with(weft("test model"), 2, "unknown command \"test\"; did you mean eval?"));
  CHECK(fails_with(weft("supervised"), 2, "did you mean train?"));
  CHECK(fails_with(weft("sample"), 2, "did you mean generate?"));
  CHECK(fails_with(weft("tokenizer test"), 2, "unknown command \"test\", expected one of train"));
  CHECK(fails_with(weft("''"), 2, "unknown command \"\""));
  CHECK(
      fails_with(weft(""), 2,
                 "give a subcommand: train, tune, classify, predict, embed, nearest, fill-mask, generate, serve, eval, "
                 "report, page, tokenizer, quantize, average, convert, info"));
}

TEST_CASE("an unknown option: the error names the nearest option of that command") {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = weft(arguments);
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, 2, part + " (see --help)"));
  };
  refused("train --layer 2", "unknown option --layer of weft train; did you mean --layers?");
  refused("train --d_model=2", "unknown option --d_model of weft train; did you mean --d-model?");
  refused("train -steps 2", "unknown option -steps of weft train; did you mean --steps?");
  refused("train --out x --vocab 2", "unknown option --vocab of weft train; did you mean --vocabulary-size?");
  refused("info --vocab 2", "unknown option --vocab of weft info; did you mean --vocabulary?");
  refused("generate --checkpoint x --temprature 2", "did you mean --temperature?");
  refused("train --colour red", "unknown option --colour of weft train");
  refused("--verison", "unknown option --verison; did you mean --version?");
  refused("train --out x elephant", "unexpected argument \"elephant\"");
  refused("train --out", "--out: expected a value, got none");
}

TEST_CASE("nearest: the fewest letters added, omitted, changed or swapped, at most one in three") {
  const std::vector<std::string> names = {"layers", "lr", "lr-floor", "log", "all", "vocabulary-size"};
  CHECK(nearest("layer", names) == "layers");
  CHECK(nearest("layres", names) == "layers");
  CHECK(nearest("lyers", names) == "layers");
  CHECK(nearest("laXers", names) == "layers");
  CHECK(nearest("lXyXrs", names) == "layers");
  CHECK(nearest("XXXers", names) == "");
  CHECK(nearest("lr-flor", names) == "lr-floor");
  CHECK(nearest("rl", names) == "lr");
  CHECK(nearest("vocab", names) == "vocabulary-size");
  CHECK(nearest("vo", names) == "");
  CHECK(nearest("", names) == "");
  CHECK(nearest("x", names) == "");
  CHECK(nearest(std::string(100000, 'x'), names) == "");
}

TEST_CASE("values follow = or are the next word, even if they are empty or look like options") {
  CLI::App app;
  (void)generate_command(app, nullptr);
  const char* const typed[] = {"weft", "generate", "--prompt=a=b", "--prompt", "--seed=3", "--seed=", "--new=1"};
  CHECK(arguments_for(app, 7, typed) ==
        std::vector<std::string>{"--new=1", "", "--seed", "--seed=3", "--prompt", "a=b", "--prompt", "generate"});
}

TEST_CASE("if an option occurs twice, the last one counts") {
  CHECK(contains(weft("info --arch tnn --layers 2 --layers 4 --arch gmlp").out, "architecture gmlp\n"));
  CHECK(contains(weft("info --arch tnn --layers 2 --layers 4 --arch gmlp").out, "\"layers\":4"));
  CHECK(contains(weft("info --arch gmlp --set layers=2 --set tied=true --set layers=5").out, "\"layers\":5"));
  CHECK(contains(weft("info --arch gmlp --dropout=0.1 --dropout=0.25").out, "\"dropout\":0.25"));
  CHECK(fails_with(weft("info --arch gmlp --layers x --layers x"), 2, "--layers"));
}

TEST_CASE("output that can't be written is an error, even for help") {
  for (const std::string arguments : {"--help", "train --help", "help", "--version", "info"}) {
    CAPTURE(arguments);
    CHECK(fails_with(weft(arguments + " >/dev/full"), 1, "can't write to standard output"));
    CHECK(fails_with(weft(arguments + " >&-"), 1, "can't write to standard output"));
  }
}

}  // namespace weft::test
