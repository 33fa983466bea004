// Tests of weft eval and weft generate with a checkpoint.
#include <doctest/doctest.h>

#include <cmath>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"

namespace weft::test {

TEST_CASE("eval uses the config's sequence length if a checkpoint doesn't record it") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, usual_task(arch));
    save_checkpoint(folder / arch, *small.model, *small.data->tokenizer());
    const std::string eval = "eval --checkpoint " + (folder / arch) + " --text " + (folder / "text");
    const Outcome outcome = weft(eval), given = weft(eval + " --seq-len 16");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.substr(0, outcome.out.find("peak")) == given.out.substr(0, given.out.find("peak")));
  }
}

TEST_CASE("eval uses the length of training, not the maximum length of the model") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const SmallTask small = small_task("gmlp", Task::causal_lm);  // has at most 16 tokens
  CheckpointInfo info;
  info.length = 5;
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer(), info);
  const auto loss = [&](const std::string& more) {
    const Outcome outcome = weft("eval --checkpoint " + (folder / "run") + " --text " + (folder / "text") + more);
    CHECK(outcome.code == 0);
    return number_after(outcome.out, "test loss ");
  };
  CHECK(loss("") == loss(" --seq-len 5"));
  CHECK(loss("") != loss(" --seq-len 16"));
}

TEST_CASE("generate's temperature and top-k, and eval of the whole text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const SmallTask small = small_task("tnn", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  const auto text = [&](const std::string& options) {
    const Outcome outcome = weft("generate --tokens 40 --checkpoint " + (folder / "run") + " --prompt line " + options);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string greedy = text("--temperature 0 --seed 1");
  CHECK(greedy == text("--temperature 0 --seed 2"));
  CHECK(greedy == text("--top-k 1 --seed 3"));
  CHECK(greedy != text("--seed 3"));
  CHECK(text("--top-k 2 --seed 3") != text("--seed 3"));
  CHECK(text("--temperature 0.1 --seed 3") != text("--seed 3"));
  const std::string eval = "eval --checkpoint " + (folder / "run") + " --text " + (folder / "text");
  const auto symbols = static_cast<double>(small.data->tokenizer()->encode(small_text()).size());
  CHECK(number_after(weft(eval + " --all").out, "predicted ") == symbols - 1);
  CHECK(number_after(weft(eval).out, "predicted ") == std::floor(symbols / 10) - 1);
}

}  // namespace weft::test
