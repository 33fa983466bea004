// Tests of weft train, eval, classify, report and quantize with pictures.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "idx_files.h"
#include "report/run.h"
#include "temporary_folder.h"
#include "weft/classifier.h"
#include "weft/os.h"

namespace weft::test {
namespace {

// A run of an architecture on 60 pictures, tested on 12.
class PictureRun {
 public:
  explicit PictureRun(const std::string& arch) {
    train = write_pictures(folder, "train", 0, 60);
    test = write_pictures(folder, "t10k", 60, 12);
    const Outcome trained = weft(options(arch) + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    out = trained.out;
    err = trained.err;
  }
  std::string options(const std::string& arch) const {
    return "train --arch " + arch + " --data " + train + " --test " + test +
           " --layers 1 --d-model 16 --patch 2 --shift 1 --batch 8 --steps 80 --lr 5e-3 --threads 1 --eval-every 20";
  }

  TemporaryFolder folder;
  std::string run = folder / "run", train, test, out, err;
};

}  // namespace

TEST_CASE("pictures: train, eval, classify, report and quantize work with every architecture") {
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const PictureRun run(arch);
    CHECK(contains(run.err, "IDX, pictures of 4 x 6 pixels; 60 rows, 3 labels: 0, 1, 2"));
    CHECK(contains(run.err, "sequences of 6 in batches of 8"));
    CHECK(contains(run.out, "test accuracy 100.00 %"));
    const Outcome measured = weft("eval " + run.run + " --data " + run.test);
    CHECK(measured.code == 0);
    CHECK(contains(measured.out, "accuracy 100.00 %"));
    const Outcome answers = weft("classify " + run.run + " " + run.test);
    CHECK(answers.code == 0);
    for (int k = 0; k < 12; ++k)
      CHECK(lines_of(answers.out).at(static_cast<std::size_t>(k)).substr(0, 2) == std::to_string(k % 3) + "\t");
    const Outcome table = weft("classify " + run.run + " " + run.test + " --csv");
    CHECK(lines_of(table.out).at(0) == "picture,label,probability");
    CHECK(lines_of(table.out).at(2).substr(0, 4) == "2,1,");
    const report::Json described = report::read_run(run.run, "run", {});
    CHECK(described["sample"]["kind"] == "confusion");
    CHECK(described["sample"]["rows"] == 6);
    CAPTURE(described["notes"].dump());
    CHECK(described["notes"].empty());
    const Outcome small =
        weft("quantize " + run.run + " --to int8 --out " + (run.folder / "small") + " --data " + run.test);
    CAPTURE(small.err);
    CHECK(small.code == 0);
    CHECK(weft("classify " + (run.folder / "small") + " " + run.test).code == 0);
    CHECK(weft("info --checkpoint " + run.run).code == 0);
  }
}

TEST_CASE("pictures: a stopped run continues with the same bits, and run.json repeats it") {
  const PictureRun whole("gmlp");
  const std::string part = whole.folder / "part", again = whole.folder / "again";
  CHECK(weft(whole.options("gmlp") + " --out " + part + " --overwrite").code == 0);
  CHECK(weft("train --config " + whole.run + "/run.json --out " + again + " --threads 2").code == 0);
  const auto parameters = [](const std::string& run) { return os::read_file(run + "/last/model.safetensors"); };
  CHECK(parameters(part) == parameters(whole.run));
  CHECK(parameters(again) == parameters(whole.run));
  CHECK(weft("train --resume " + part + " --steps 100").code == 0);
  CHECK(parameters(part) != parameters(whole.run));
}

TEST_CASE("pictures: options for texts are refused, and options for pictures are refused for texts") {
  const TemporaryFolder folder;
  const std::string pictures = write_pictures(folder, "train", 0, 20);
  const std::string train = "train --arch gmlp --steps 2 --out " + (folder / "run") + " --data ";
  CHECK(fails_with(weft(train + pictures + " --tokenizer words"), 2, "--tokenizer is for texts"));
  CHECK(fails_with(weft(train + pictures + " --word-dropout 0.1"), 2, "--word-dropout is for texts"));
  CHECK(fails_with(weft(train + pictures + " --pad-to 8"), 2, "--pad-to is for texts"));
  CHECK(fails_with(weft(train + pictures + " --patch 5"), 1, "multiples of the patch size, 5 pixels"));
  CHECK(fails_with(weft(train + pictures + " --seq-len 4"), 1, "a seq_len of at least 24"));
  CHECK(fails_with(weft(train + pictures + " --header yes"), 1, "pictures and arrays have no header"));
  folder.write("texts.csv", "red,1\nblue,2\ngreen,1\nblack,2\n");
  for (const std::string option : {"--patch 2", "--shift 1", "--flips"})
    CHECK(fails_with(weft(train + (folder / "texts.csv") + " " + option), 2,
                     option.substr(0, option.find(' ')) + " is for pictures"));
}

TEST_CASE("pictures: a classifier of pictures refuses texts, and one of texts refuses pictures") {
  const PictureRun run("gmlp");
  run.folder.write("texts.csv", "text,label\nred,0\nblue,1\ngreen,2\nblack,0\nwhite,1\ngray,2\n");
  const std::string texts = run.folder / "texts.csv", of_texts = run.folder / "texts";
  CHECK(weft("train --arch gmlp --data " + texts + " --steps 2 --layers 1 --d-model 8 --out " + of_texts).code == 0);
  CHECK(fails_with(weft("classify " + run.run + " " + texts), 1, "the model reads pictures, but"));
  CHECK(fails_with(weft("classify " + of_texts + " " + run.test), 1, "the model reads texts, but"));
  CHECK(contains(weft("eval " + of_texts + " --data " + run.test).err, "the model reads texts, but"));
  CHECK(contains(weft("eval " + run.run + " --data " + texts).err, "the model reads pictures, but"));
  CHECK(fails_with(weft("train --from " + of_texts + " --data " + run.train + " --steps 2 --out " + (run.folder / "x")),
                   1, "the model reads texts, but"));
  CHECK(fails_with(weft("train --from " + run.run + " --data " + texts + " --steps 2 --out " + (run.folder / "x")), 1,
                   "the model reads pictures, but"));
  CHECK(fails_with(weft("generate " + run.run), 1, "can't continue a text"));
  CHECK(fails_with(weft("convert " + run.run + " " + (run.folder / "other") + " --to labml-gmlp"), 1,
                   "only models that read tokens"));
}

}  // namespace weft::test
