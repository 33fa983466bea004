// Tests of weft info and --help, and of architecture, task and sizes from recipes, config files and flags.
#include <doctest/doctest.h>
#include <stdlib.h>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {

TEST_CASE("sizes from a recipe or a config file, which flags replace") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"d_model": 24, "layers": 2})");
  const std::string config = " --config " + (folder / "config.json");
  const Outcome info = weft("info --recipe gmlp-shakespeare --layers 1 --set d_ffn=10 --set tied=true");
  CHECK(contains(info.out, R"("d_model":512,"d_ffn":10,"layers":1,"seq_len":256,"tied":true)"));
  CHECK(contains(weft("info --arch fnet" + config).out, R"("layers":2)"));
  for (const std::string& arch : own_architectures) {
    const std::string out = weft("info --arch " + arch + config).out;
    for (const ConfigField& field : architecture(arch).fields) {
      CAPTURE(field.name);
      CHECK_FALSE(field.meaning.empty());
      const std::size_t line = out.find("\n  " + field.name + " ");
      REQUIRE(line != std::string::npos);
      CHECK(contains(out.substr(line, out.find('\n', line + 1) - line), "  " + field.usual + " "));
      CHECK(contains(out.substr(line, out.find('\n', line + 1) - line), "  " + field.meaning));
    }
  }
  CHECK(number_after(weft("info --recipe gmlp-shakespeare --vocabulary 65").out, "\nparameters ") == 9933377);
  CHECK(fails_with(weft("info --recipe gmlp-shakespeare --arch fnet"), 2, "--recipe"));
  CHECK(contains(weft("info --recipe fnet-agnews").out, "\noutputs 4\n"));
}

TEST_CASE("architecture and task from a config file, including a checkpoint's config file") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("gmlp.json", R"({"arch": "gmlp", "task": "masked-lm", "d_model": 24, "layers": 1, "seq_len": 8})");
  folder.write("number.json", R"({"arch": 3})");
  const std::string gmlp = " --config " + (folder / "gmlp.json"), text = " --text " + (folder / "text");
  const Outcome info = weft("info" + gmlp);
  CHECK(contains(info.out, "architecture gmlp\ntask masked-lm\n"));
  CHECK(contains(info.out, R"("d_model":24)"));
  folder.write("wide.json", R"({"arch": "gmlp", "d_model": 24})");
  CHECK(contains(weft("info --arch tnn --config " + (folder / "wide.json")).out, "architecture tnn\n"));
  CHECK(contains(weft("info --task causal-lm" + gmlp).out, "architecture gmlp\ntask causal-lm\n"));
  CHECK(fails_with(weft("info --recipe fnet-agnews" + gmlp), 2, "--recipe"));
  CHECK(fails_with(weft("info --config " + (folder / "number.json")), 1, "\"arch\" to be a string"));

  REQUIRE(weft("train --steps 2" + text + gmlp + " --out " + (folder / "a")).code == 0);
  const std::string saved = " --config " + (folder / "a/last/config.json");
  CHECK(weft("train --steps 2" + text + saved + " --out " + (folder / "b")).code == 0);
  CHECK(folder.read("b/last/model.safetensors") == folder.read("a/last/model.safetensors"));
  std::string colour = folder.read("a/last/config.json");
  colour.insert(1, "\"colour\": 1,");
  folder.write("colour.json", colour);
  CHECK(fails_with(weft("info --config " + (folder / "colour.json")), 1, "unknown config key \"colour\""));
}

TEST_CASE("weft info and help") {
  const Outcome info = weft("info");
  CHECK(info.code == 0);
  for (const char* part : {"weft ", "instruction set ", "threads ", "architectures ", "recipes "})
    CHECK(contains(info.out, part));
  CHECK(weft("--version").out.rfind("weft ", 0) == 0);
  CHECK(weft("--help").code == 0);
  for (const char* command : {"train", "classify", "fill-mask", "generate", "eval", "info"})
    CHECK(contains(weft(command + std::string(" --help")).out, std::string("\n  weft ") + command));
}

TEST_CASE("model card: license and description, shown by weft info, also of a quantized model") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string run = folder / "run";
  REQUIRE(weft("train --arch gmlp" + tiny_sizes + "--steps 2 --text " + (folder / "text") + " --out " + run +
               " --license CC-BY-4.0 --about 'The rain in Spain'")
              .code == 0);
  const std::string shown = weft("info " + run).out;
  CHECK(contains(shown, "\nlicense CC-BY-4.0\nabout The rain in Spain\ndata "));
  CHECK(contains(shown, "\nsettings {\"batch\":12,"));
  REQUIRE(weft("train --resume " + run + " --steps 4 --license MIT").code == 0);
  const std::string resumed = weft("info " + run + " --checkpoint last").out;
  CHECK(contains(resumed, "\nlicense MIT\nabout The rain in Spain\n"));
  REQUIRE(weft("quantize " + run + " --to int8 --out " + (folder / "int8")).code == 0);
  CHECK(contains(weft("info " + (folder / "int8")).out, "\nlicense MIT\n"));
  // A run that repeats another one doesn't take its license.
  REQUIRE(weft("train --config " + run + "/run.json --steps 2 --out " + (folder / "again")).code == 0);
  CHECK_FALSE(contains(weft("info " + (folder / "again")).out, "license"));
}

TEST_CASE("model card: bytes that are not UTF-8 are refused") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string begin = "train --arch gmlp" + tiny_sizes + "--steps 2 --text " + (folder / "text");
  CHECK(fails_with(weft(begin + " --license 'caf\xe9' --out " + (folder / "run")), 2, "--license"));
}

TEST_CASE("model card: changed parameters lose the results of the validation") {
  const TemporaryFolder folder;
  folder.write("rows.csv", small_csv());
  const std::string run = folder / "run", mean = folder / "mean", small = folder / "int8";
  REQUIRE(weft("train --arch fnet" + row_sizes + "--steps 4 --eval-every 2 --data " + (folder / "rows.csv") +
               " --out " + run)
              .code == 0);
  CHECK(contains(weft("info " + run).out, "\nvalidation accuracy "));
  REQUIRE(weft("average " + run + "/best " + run + "/last --out " + mean).code == 0);
  REQUIRE(weft("quantize " + run + " --to int8 --out " + small).code == 0);
  for (const std::string& changed : {mean, small}) {
    const std::string shown = weft("info " + changed).out;
    CHECK(contains(shown, "\nsettings {"));
    CHECK_FALSE(contains(shown, "\nvalidation accuracy "));
  }
}

}  // namespace weft::test
