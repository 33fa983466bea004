// Tests of weft train, eval, classify, predict, report and quantize with sounds and with NumPy's arrays.
#include <doctest/doctest.h>

#include <cmath>

#include "command.h"
#include "number_files.h"
#include "temporary_folder.h"
#include "wav_files.h"

namespace weft::test {

TEST_CASE("sounds: train, eval, classify, report and quantize") {
  const TemporaryFolder folder;
  write_tones(folder, "d", 24);
  const std::string data = folder / "d", run = folder / "run";
  const auto trained = weft("train --arch tnn --layers 1 --d-model 8 --steps 40 --batch 8 --lr 0.01 --data " + data +
                            " --test " + data + " --out " + run);
  CHECK(trained.code == 0);
  CHECK(
      contains(trained.err, "a folder for each label, sounds of 8000 samples a second; 24 rows, 2 labels: high, low"));
  CHECK(contains(trained.out + trained.err, "test accuracy 100.00 %"));
  CHECK(contains(weft("eval " + run + " --data " + data).out, "accuracy 100.00 %"));
  const auto table = weft("classify " + run + " " + data + " --csv");
  CHECK(contains(table.out, "file,label,probability\n"));
  CHECK(contains(table.out, "/low/5.wav,low,"));
  CHECK(contains(weft("classify " + run + " " + data + "/high/4.wav").out, "high\t"));
  CHECK(weft("report " + run + " --out " + (folder / "r.html")).code == 0);
  CHECK(weft("quantize " + run + " --to int8 --out " + (folder / "q") + " --data " + data).code == 0);
  CHECK(contains(weft("classify " + (folder / "q") + " " + data + "/low/3.wav").out, "low\t"));
  folder.write("texts.txt", "a text\n");
  CHECK(fails_with(weft("classify " + run + " " + (folder / "texts.txt")), 1, "the model reads sounds, but"));
  CHECK(fails_with(weft("train --arch tnn --flips --data " + data + " --out " + (folder / "x")), 2,
                   "--flips is for pictures, but the rows of --data are sounds"));
  CHECK(fails_with(weft("train --arch tnn --tokenizer words --data " + data + " --out " + (folder / "x")), 2,
                   "--tokenizer is for texts, but the rows of --data are sounds"));
  folder.write("fast.wav", wav_of({0, 0.5}, 16000, 16));
  const auto fast = weft("classify " + run + " " + (folder / "fast.wav"));
  CHECK(fast.code == 1);
  CHECK(contains(fast.err, "expected 8000 samples a second, got 16000"));
}

TEST_CASE("NumPy's arrays: a regression on sequences, stopped and resumed, and its predictions") {
  const TemporaryFolder folder;
  write_waves(folder, "train", 60);
  const std::string data = folder / "train-x.npy", run = folder / "run";
  const std::string options =
      "train --arch gmlp --layers 1 --d-model 16 --task regression --batch 8 --lr 0.01 --data " + data;
  const auto trained = weft(options + " --steps 150 --out " + run);
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "NumPy, 5 frames of 2 numbers; 60 rows"));
  CHECK(contains(trained.err, "regression: value has the mean"));
  CHECK(number_after(weft("eval " + run + " --data " + data).out, "R2") > 0.9);
  const auto predicted = weft("predict " + run + " " + data);
  CHECK(predicted.code == 0);
  CHECK(std::abs(std::stod(predicted.out) - 100) < 3);  // the first row
  CHECK(weft("report " + run + " --out " + (folder / "r.html")).code == 0);
  CHECK(fails_with(weft("classify " + run + " " + data), 1, "expected a classifier"));
  CHECK(fails_with(weft("predict " + run + " " + data + " --columns text=2"), 2,
                   "--columns applies only to tables of texts, but " + data + " has frames of numbers"));
  const std::string part = folder / "part", model = "/last/model.safetensors";
  CHECK(weft(options + " --schedule constant --steps 60 --out " + part).code == 0);
  CHECK(weft("train --resume " + part + " --steps 90").code == 0);
  CHECK(weft(options + " --schedule constant --steps 90 --out " + (folder / "whole")).code == 0);
  CHECK(folder.read("part" + model) == folder.read("whole" + model));
  const std::string other = folder / "words.csv";
  folder.write("words.csv", "label,text\n1,a\n2,b\n");
  const auto texts = weft("eval " + run + " --data " + other);
  CHECK(texts.code == 1);
  CHECK(contains(texts.err, "the model reads frames of numbers, but"));
}

}  // namespace weft::test
