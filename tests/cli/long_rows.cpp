// Tests of the line about rows that are longer than a model's sequences, and of the positions of frames.
#include <doctest/doctest.h>

#include "command.h"
#include "number_files.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "wav_files.h"

namespace weft::test {
namespace {

// Ten rows. Row k has k + 1 words, which are k + 2 tokens for a classifier.
std::string rows_of_many_lengths(const std::string& task) {
  std::string csv = "text,label\n";
  for (int k = 0; k < 10; ++k) {
    std::string text, tags;
    for (int i = 0; i <= k; ++i) {
      text += (i > 0 ? " " : "") + std::string(k % 2 == 0 ? "red" : "blue");
      tags += i > 0 ? " A" : "B";
    }
    csv += text + "," +
           (task == "tagging"     ? tags
            : task == "retrieval" ? text + " wind"
                                  : std::to_string(k % 2)) +
           "\n";
  }
  return csv;
}

std::string long_texts(const std::string& set, const std::string& count) {
  return "texts of " + set + " with more than 8 tokens, which are truncated: " + count + "\n";
}

}  // namespace

TEST_CASE("long rows: each command says once how many texts it truncates") {
  for (const std::string task : {"classifier", "regression", "multilabel", "tagging", "retrieval"}) {
    CAPTURE(task);
    const TemporaryFolder folder;
    folder.write("rows.csv", rows_of_many_lengths(task));
    folder.write("short.csv", "text,label\nred blue," + std::string(task == "tagging" ? "A B" : "1") + "\nred," +
                                  (task == "tagging" ? "B" : "0") + "\n");
    const std::string rows = folder / "rows.csv", small = folder / "short.csv", run = folder / "run";
    const std::string count = task == "retrieval" ? "7 of 20" : task == "tagging" ? "2 of 10" : "3 of 10";
    const Outcome trained = weft("train --arch gmlp --task " + task + row_sizes + "--steps 2 --data " + rows +
                                 " --validation " + small + " --test " + rows + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.err, long_texts("the training set", count)));
    CHECK(contains(trained.err, long_texts("the test set", count)));
    CHECK_FALSE(contains(trained.err, "of the validation set with more"));

    CHECK(contains(weft("eval " + run + " --data " + rows).err, long_texts(rows, count)));
    CHECK_FALSE(contains(weft("eval " + run + " --data " + small).err, "truncated"));
    if (task == "retrieval") continue;
    const std::string use = task == "classifier" ? "classify " : "predict ";
    const Outcome used = weft(use + run + " " + rows);
    CHECK(used.code == 0);
    if (task == "tagging") CHECK_FALSE(contains(used.err, "truncated"));  // it reads a long text in pieces
    else CHECK(contains(used.err, long_texts(rows, count)));
    CHECK_FALSE(contains(weft(use + run + " " + small).err, "truncated"));
  }
}

TEST_CASE("long rows: lines, pairs, vectors and padded rows") {
  const TemporaryFolder folder;
  folder.write("rows.csv", rows_of_many_lengths("classifier"));
  folder.write("lines", "red red red red red red red\nred red red red red red red red\nblue\n");
  const std::string rows = folder / "rows.csv", lines = folder / "lines", run = folder / "run";
  const std::string train = "train --arch gmlp" + row_sizes + "--steps 2 --overwrite --data ";
  REQUIRE(weft(train + rows + " --out " + run).code == 0);
  CHECK(weft("classify " + run + " " + lines).err == long_texts("\"" + lines + "\"", "1 of 3"));
  CHECK(weft("embed " + run + " " + lines).err == long_texts("\"" + lines + "\"", "1 of 3"));
  CHECK(weft("nearest " + run + " " + lines + " red").err == long_texts("\"" + lines + "\"", "1 of 3"));
  CHECK(contains(shell("\"$WEFT\" classify " + run + " < " + lines).err, " with more than 8 tokens"));

  const std::string padded = folder / "padded";
  CHECK(contains(weft(train + rows + " --pad-to 5 --validation " + rows + " --out " + padded).err,
                 "texts of the validation set with more than 5 tokens, which are truncated: 6 of 10\n"));
  CHECK(contains(weft("classify " + padded + " " + lines).err, "with more than 5 tokens, which are truncated: 2 of 3"));

  folder.write("pairs.csv",
               "a,b,label\nred red red,red red red,1\nred red red red,red red red,0\nred,blue,1\nblue,red,0\n");
  const std::string pairs = folder / "pairs.csv", columns = " --columns text=a,second=b,label=label";
  const std::string of_pairs = folder / "pairs";
  CHECK(contains(weft(train + pairs + columns + " --validation " + pairs + " --out " + of_pairs).err,
                 long_texts("the training set", "1 of 4")));
  CHECK(contains(weft("classify " + of_pairs + " " + pairs + columns).err, long_texts(pairs, "1 of 4")));
}

TEST_CASE("long rows: a language model reads windows of its text, so it truncates nothing") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string run = folder / "run", text = folder / "text";
  const Outcome trained = weft("train --arch gmlp" + sizes + "--steps 2 --text " + text + " --out " + run);
  CHECK(trained.code == 0);
  CHECK_FALSE(contains(trained.err, "truncated"));
  CHECK_FALSE(contains(weft("eval " + run + " --text " + text).err, "truncated"));
}

TEST_CASE("long rows: frames and sounds") {
  const TemporaryFolder folder;
  write_waves(folder, "waves", 20);
  const std::string waves = folder / "waves-x.npy", run = folder / "run";
  const std::string train = "train --arch gmlp --layers 1 --d-model 8 --steps 2 --batch 4 --overwrite ";
  const std::string of_waves = train + "--task regression --data " + waves + " --validation " + waves;
  const Outcome whole = weft(of_waves + " --out " + run);
  CHECK(whole.code == 0);
  CHECK_FALSE(contains(whole.err, "truncated"));
  CHECK_FALSE(contains(weft("predict " + run + " " + waves).err, "truncated"));
  const std::string frames = " with more than 4 frames, which are truncated: 20 of 20\n";
  const Outcome cut = weft(of_waves + " --seq-len 4 --out " + run);
  CHECK(contains(cut.err, "rows of the training set" + frames));
  CHECK(contains(cut.err, "rows of the validation set" + frames));
  CHECK(contains(weft("eval " + run + " --data " + waves).err, "rows of " + waves + frames));
  CHECK(contains(weft("predict " + run + " " + waves).err, "rows of " + waves + frames));

  write_tones(folder, "tones", 12);  // tone k has 1 + n / 80 frames for n samples
  const std::string tones = folder / "tones";
  int longer = 1;  // tone 0
  for (int k = 1; k < 12; ++k) longer += 1 + (1000 + k * 37 % 900) / 80 > 15;
  const std::string sounds = " with more than 15 frames, which are truncated: " + std::to_string(longer) + " of 12\n";
  CHECK(contains(weft(train + "--seq-len 15 --data " + tones + " --validation " + tones + " --out " + run).err,
                 "sounds of the training set" + sounds));
  CHECK(contains(weft("classify " + run + " " + tones).err, "sounds of " + tones + sounds));
}

TEST_CASE("positions: --positions chooses the position embeddings of frames and patches") {
  const TemporaryFolder folder;
  write_waves(folder, "waves", 20);
  folder.write("rows.csv", rows_of_many_lengths("classifier"));
  std::string table = "a,b\n";
  for (int i = 0; i < 60; ++i) table += std::to_string(i * i % 13) + "," + std::to_string(i % 7) + "\n";
  folder.write("table.csv", table);
  const std::string waves = folder / "waves-x.npy", tiny = " --layers 1 --d-model 8 --steps 2 --batch 4 --overwrite ";
  const auto train = [&](const std::string& arch, const std::string& options, const std::string& out) {
    return weft("train --arch " + arch + tiny + "--task regression --data " + waves + options + " --out " +
                (folder / out));
  };
  for (const std::string arch : {"gmlp", "tnn", "fnet"})
    for (const std::string kind : {"architecture", "none", "sinusoidal", "learned"}) {
      CAPTURE(arch);
      CAPTURE(kind);
      const std::string run = folder / kind;
      REQUIRE(train(arch, " --positions " + kind, kind).code == 0);
      CHECK(contains(folder.read(kind + "/run.json"), "\"positions\": \"" + kind + "\""));
      const bool is_default = kind == "architecture";
      CHECK(contains(folder.read(kind + "/best/config.json"), "\"positions\": \"" + kind) == !is_default);
      CHECK(weft("predict " + run + " " + waves).code == 0);
      REQUIRE(weft("train --resume " + run + " --steps 3").code == 0);
      REQUIRE(weft("train --config " + run + "/run.json --steps 3 --out " + (folder / "again") + " --overwrite").code ==
              0);
      CHECK(folder.read(kind + "/last/model.safetensors") == folder.read("again/last/model.safetensors"));
      CHECK(number_after(weft("info --config " + run + "/run.json").out, "parameters ") ==
            number_after(weft("info --checkpoint " + run).out, "parameters "));
    }
  CHECK(train("gmlp", "", "plain").code == 0);
  CHECK_FALSE(contains(folder.read("plain/run.json"), "positions\": \""));
  CHECK(contains(weft("info --checkpoint " + (folder / "learned")).out, "frames.positions"));

  CHECK(weft("train --arch gmlp" + tiny + "--frames a,b --target a --seq-len 3 --positions learned --data " +
             (folder / "table.csv") + " --out " + (folder / "series"))
            .code == 0);
  CHECK(contains(folder.read("series/best/config.json"), "\"positions\": \"learned"));
  CHECK(fails_with(train("gmlp", " --positions some", "x"), 2, "architecture, none, sinusoidal, learned"));
  CHECK(fails_with(
      weft("train --arch gmlp --positions none --data " + (folder / "rows.csv") + " --out " + (folder / "x")), 2,
      "--positions is for rows of numbers, but the rows of --data are texts"));
  CHECK(fails_with(weft("train --arch gmlp --positions none --text " + waves + " --out " + (folder / "x")), 2,
                   "--positions requires --data"));
  CHECK(fails_with(
      weft("train --from " + (folder / "plain") + " --positions none --data " + waves + " --out " + (folder / "x")), 2,
      "--positions"));
}

}  // namespace weft::test
