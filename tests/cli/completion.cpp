// Tests of weft completion: what bash completes.
#include <doctest/doctest.h>

#include "command.h"

namespace weft::test {
namespace {

// Returns the completions that bash offers for the last of the typed words, one per line.
std::string completed(const std::string& words, int last) {
  const std::string line = "source <(\"$WEFT\" completion bash) && cd / && COMP_WORDS=(" + words +
                           ") COMP_CWORD=" + std::to_string(last) + " && _weft; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
  return shell("bash -c '" + line + "'").out;
}

}  // namespace

TEST_CASE("completion: bash completes subcommands, nested subcommands, and the options of each") {
  CHECK(completed("weft cl", 1) == "classify\n");
  CHECK(completed("weft tr", 1) == "train\n");
  CHECK(completed("weft train --pati", 2) == "--patience\n");
  CHECK(completed("weft train --steps 5 --pati", 4) == "--patience\n");
  CHECK(completed("weft classify --pati", 2) == "\n");
  CHECK(completed("weft data listo", 2) == "listops\n");
  CHECK(completed("weft data listops --", 3).find("--") == 0);
  CHECK(contains(completed("weft eval et", 2), "etc\n"));  // a folder in /
}

TEST_CASE("completion: zsh loads bash's functions first, and other shells are refused") {
  CHECK(weft("completion zsh").out.rfind("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit", 0) == 0);
  CHECK_FALSE(contains(weft("completion zsh").out, "[weft "));  // zsh doesn't accept a space in a key
  const Outcome other = weft("completion fish");
  CHECK(other.code == 2);
  CHECK(contains(other.err, "expected bash or zsh, got \"fish\""));
}

}  // namespace weft::test
