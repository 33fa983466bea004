// Tests of weft train --ema, --fake-quant and --rates: what they write, that a resumed run gives the same bits, and
// invalid values.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "same_parameters.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/checkpoint.h"
#include "weft/quantized.h"

namespace weft::test {
namespace {

// Rows in a folder, and the command that trains on them.
struct AveragedRun {
  AveragedRun() { folder.write("rows.csv", small_csv()); }
  TemporaryFolder folder;
  std::string train = "train --arch gmlp --data " + (folder / "rows.csv") + sizes + "--min-count 1 --threads 1 ";
};

NamedParameters parameters_of(const std::string& folder) { return load_checkpoint(folder).model->parameters(); }

}  // namespace

TEST_CASE_FIXTURE(AveragedRun,
                  "weft train --ema: checkpoints have the average, and a resumed run gives the same bits") {
  CHECK(weft(train + "--steps 8 --ema 0.5 --out " + (folder / "whole")).code == 0);
  CHECK(weft(train + "--steps 8 --out " + (folder / "plain")).code == 0);
  const auto run = nlohmann::json::parse(folder.read("whole/run.json"));
  CHECK(run.at("training").at("ema") == 0.5);
  CHECK_FALSE(nlohmann::json::parse(folder.read("plain/run.json")).at("training").contains("ema"));
  const auto same = [&](const std::string& a, const std::string& b) {
    return same_parameters(*load_checkpoint(folder / a).model, *load_checkpoint(folder / b).model);
  };
  CHECK_FALSE(same("whole/last", "plain/last"));
  CHECK(weft(train + "--steps 3 --ema 0.5 --out " + (folder / "parts")).code == 0);
  CHECK(weft("train --resume " + (folder / "parts") + " --steps 8 --threads 1").code == 0);
  CHECK(same("whole/last", "parts/last"));
  CHECK(weft(train + "--steps 4 --ema 0.5 --folds 2 --out " + (folder / "folds")).code == 0);
  CHECK(weft(train + "--steps 4 --ema 0.5 --folds 2/2 --out " + (folder / "fold")).code == 0);
  CHECK(weft(train + "--steps 4 --folds 2/2 --out " + (folder / "plain-fold")).code == 0);
  CHECK(same("folds/fold-2/last", "fold/last"));
  CHECK_FALSE(same("fold/last", "plain-fold/last"));
  CHECK(fails_with(weft(train + "--ema 1 --steps 2 --out " + (folder / "bad")), 2, "--ema"));
}

TEST_CASE_FIXTURE(AveragedRun, "weft train --fake-quant: the checkpoint loses nothing when it is quantized to int8") {
  const std::string rounded = train + "--fake-quant int8 --out ";
  CHECK(weft(rounded + (folder / "whole") + " --steps 8").code == 0);
  CHECK(nlohmann::json::parse(folder.read("whole/run.json")).at("training").at("fake-quant") == "int8");
  CHECK(weft(train + "--steps 8 --out " + (folder / "plain")).code == 0);
  CHECK_FALSE(nlohmann::json::parse(folder.read("plain/run.json")).at("training").contains("fake-quant"));
  CHECK(weft(rounded + (folder / "parts") + " --steps 3").code == 0);
  CHECK(weft("train --resume " + (folder / "parts") + " --steps 8 --threads 1").code == 0);
  const Checkpoint whole = load_checkpoint(folder / "whole/last");
  CHECK(same_parameters(*whole.model, *load_checkpoint(folder / "parts/last").model));
  CHECK_FALSE(same_parameters(*whole.model, *load_checkpoint(folder / "plain/last").model));
  CHECK(weft("train --config " + (folder / "whole/run.json") + " --fake-quant none --out " + (folder / "exact")).code ==
        0);
  CHECK(same_parameters(*load_checkpoint(folder / "exact/last").model, *load_checkpoint(folder / "plain/last").model));
  CHECK(weft("quantize " + (folder / "whole") + " --to int8 --out " + (folder / "int8")).code == 0);
  const NamedParameters exact = whole.model->parameters();
  const NamedParameters in_bytes = load_checkpoint(folder / "int8", Purpose::inference).model->parameters();
  REQUIRE(exact.size() == in_bytes.size());
  std::int64_t rounded_matrices = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const Parameter& stored = in_bytes[i].second;
    rounded_matrices += stored.scales().defined();
    const Tensor value =
        stored.scales().defined() ? QuantizedWeight(stored.value(), stored.scales()).dequantized() : stored.value();
    CHECK(value.to_vector<float>() == exact[i].second.value().to_vector<float>());
  }
  CHECK(rounded_matrices > 3);
  CHECK(fails_with(weft(train + "--fake-quant int3 --steps 2 --out " + (folder / "bad")), 2,
                   "expected bf16, int8 or int4, got \"int3\""));
}

TEST_CASE_FIXTURE(AveragedRun, "weft train --rates: parameters with rate 0 don't change") {
  CHECK(weft(train + "--steps 1 --lr 1e-30 --out " + (folder / "start")).code == 0);
  CHECK(weft(train + "--steps 4 --rates embedding=0,blocks.0.sgu=2 --out " + (folder / "run")).code == 0);
  CHECK(nlohmann::json::parse(folder.read("run/run.json")).at("training").at("rates") == "embedding=0,blocks.0.sgu=2");
  const NamedParameters before = parameters_of(folder / "start/last"), after = parameters_of(folder / "run/last");
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(before[i].first);
    const bool stays = before[i].second.value().to_vector<float>() == after[i].second.value().to_vector<float>();
    CHECK(stays == before[i].first.starts_with("embedding."));
  }
  CHECK(weft("train --resume " + (folder / "run") + " --steps 6 --threads 1").code == 0);
  for (const char* bad : {"embedding", "=1", "embedding=-1", "embedding=x"})
    CHECK(fails_with(weft(train + "--steps 2 --rates " + bad + " --out " + (folder / "bad")), 2, "--rates"));
  CHECK(fails_with(weft(train + "--steps 2 --rates blocks.7=1 --out " + (folder / "bad")), 1, "\"blocks.7\""));
}

}  // namespace weft::test
