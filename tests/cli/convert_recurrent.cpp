// Tests of weft convert --to recurrent.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"

namespace weft::test {
namespace {

// Saves a TNN language model with that config.
void save_model(const std::string& folder, const std::string& config, Task task = Task::causal_lm) {
  const auto tokenizer = characters(small_text(), task);
  CheckpointInfo info;
  info.length = 16;
  info.card.about = "a model about lines";
  info.card.validation = {{"loss", 0.125}};
  save_checkpoint(folder, *make_model({"tnn", task, tokenizer->size(), 0, config}, Init{Random(3)}), *tokenizer, info);
}

const std::string small = R"("d_model":8,"layers":2,"rpe_dim":4)";

}  // namespace

TEST_CASE("weft convert --to recurrent: the new checkpoint has nearly the same loss, and all commands accept it") {
  const TemporaryFolder folder;
  const std::string in = folder / "in", out = folder / "out", again = folder / "again";
  folder.write("text", small_text());
  save_model(in, "{" + small + R"(,"gamma":0.9})");
  const Outcome made = weft("convert " + in + " " + out + " --to recurrent --exponentials 8 --lags 200");
  CAPTURE(made.err);
  REQUIRE(made.code == 0);
  CHECK(contains(made.out, "weft -> recurrent: tnn causal-lm, "));
  for (const std::string layer : {"layer 1", "layer 2"})
    CHECK(number_after(made.out, layer + ": relative error of the coefficients ") <= 1e-3);
  const auto loss = [&](const std::string& checkpoint, const std::string& length) {
    const Outcome eval =
        weft("eval --checkpoint " + checkpoint + " --text " + (folder / "text") + " --seq-len " + length);
    CHECK(eval.code == 0);
    return number_after(eval.out, "test loss ");
  };
  for (const std::string length : {"16", "150"})
    CHECK(loss(out, length) == doctest::Approx(loss(in, length)).epsilon(1e-3));
  const std::string info = weft("info " + out).out;
  CHECK(contains(info, R"("exponentials":8)"));
  CHECK(contains(weft("info " + in).out, "0.125"));
  CHECK(contains(info, "a model about lines"));
  CHECK(!contains(info, "0.125"));  // a loss of the original
  CHECK(weft("generate " + out + " --prompt line --tokens 4").code == 0);
  CHECK(weft("convert " + out + " " + again).code == 0);
  CHECK(folder.read("again/model.safetensors") == folder.read("out/model.safetensors"));
  CHECK(fails_with(weft("convert " + out + " " + (folder / "no") + " --to tnn-pytorch"), 1,
                   "the format does not support exponentials"));
}

TEST_CASE("weft convert --to recurrent: models and options that it refuses") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& in, const std::string& options, int code, const std::string& what) {
    CHECK(fails_with(weft("convert " + (folder / in) + " " + (folder / "out") + options), code, what));
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  };
  save_model(folder / "plain", "{" + small + "}");
  save_model(folder / "length", "{" + small + R"(,"par_type":2})");
  save_model(folder / "normalize", "{" + small + R"(,"normalize":true,"act_type":"exp"})");
  save_model(folder / "masked", "{" + small + "}", Task::masked_lm);
  refused("length", " --to recurrent", 1, "expected a TNN with par_type 1 or 4, got par_type 2");
  refused("normalize", " --to recurrent", 1, "expected a TNN without normalize");
  refused("masked", " --to recurrent", 1, "expected a causal language model of the architecture tnn");
  refused("plain", " --to recurrent --exponentials 9 --lags 35", 1, "at least 4 lags for each exponential");
  refused("plain", " --exponentials 9", 2, "--exponentials and --lags need --to recurrent");
}

}  // namespace weft::test
