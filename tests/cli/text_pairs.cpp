// Tests of models of text pairs, which are trained on two columns of a table, and then classify the rows of a table or
// single lines.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/classifier.h"

namespace weft::test {
namespace {

// The label says whether both texts name the same color. One text alone says nothing about it.
std::string table_of_pairs() {
  const char* const colors[] = {"red", "blue", "green"};
  std::string csv = "same,one,two\n";
  for (int i = 0; i < 36; ++i)
    csv += std::string(i % 2 ? "yes" : "no") + ",a " + colors[i / 2 % 3] + " box," +
           colors[(i / 2 + (i % 2 ? 0 : 1 + i / 6 % 2)) % 3] + " lid\n";
  return csv;
}

class Pairs {
 public:
  Pairs() {
    folder.write("pairs.csv", table_of_pairs());
    const Outcome trained =
        weft("train --arch gmlp --data " + (folder / "pairs.csv") + " --validation " + (folder / "pairs.csv") +
             " --columns label=same,text=one,second=two" +
             " --layers 2 --d-model 32 --seq-len 9 --batch 8 --threads 1 --steps 300 --lr 5e-3 --out " + run);
    REQUIRE(trained.code == 0);
  }
  Outcome ask(const std::string& command, const std::string& content, const std::string& more = "") const {
    folder.write("asked.txt", content);
    return weft(command + " " + run + " " + (folder / "asked.txt") + more);
  }

  TemporaryFolder folder;
  std::string run = folder / "run";
};

}  // namespace

TEST_CASE_FIXTURE(Pairs, "pairs of texts: a line has both texts, separated by a tab") {
  const Outcome right = ask("classify", "a red box\tred lid\na red box\tblue lid\na green box\tgreen lid\n");
  CHECK(right.code == 0);
  CHECK(right.out.substr(0, 3) == "yes");
  CHECK(contains(right.out, "\nno\t"));
  CHECK(right.out.find("yes", 3) != std::string::npos);
  const Classifier classifier(load_checkpoint(run));
  char number[16];
  std::snprintf(number, sizeof number, "%.4f", classifier(text_pair("a red box", "red lid")).probability);
  CHECK(contains(right.out, "yes\t" + std::string(number) + "\n"));
  const Outcome wrong = ask("classify", "a red box\tred lid\na red box red lid\n");
  CHECK(wrong.code == 1);
  CHECK(wrong.out == "yes\t" + std::string(number) + "\n");
  CHECK(contains(wrong.err, "line 2: the model reads pairs of texts"));
  CHECK(fails_with(ask("classify", "a\tb\tc\n"), 1, "got 2 tabs"));
}

TEST_CASE_FIXTURE(Pairs, "pairs of texts: a table is read with the columns of training") {
  const Outcome csv =
      ask("classify", "two,more,one\nred lid,x,a red box\nblue lid,y,a red box\n", " --format csv --csv");
  CHECK(csv.code == 0);
  CHECK(contains(csv.err, "text in column \"one\", second text in column \"two\""));
  CHECK(contains(csv.out, "red lid,x,a red box,yes,"));
  CHECK(contains(csv.out, "blue lid,y,a red box,no,"));
  // The second text is the same, but the first one differs.
  const Outcome other =
      ask("classify", "two,more,one\nred lid,a blue box,a red box\n", " --format csv --columns text=more");
  CHECK(contains(other.err, "text in column \"more\", second text in column \"two\""));
  CHECK(other.out.substr(0, 2) == "no");
  const Outcome measured = weft("eval " + run + " --data " + (folder / "pairs.csv") + " --json");
  CHECK(measured.code == 0);
  CHECK(contains(measured.err, "second text in column \"two\""));
}

TEST_CASE_FIXTURE(Pairs, "pairs of texts: a checkpoint without its run accepts pairs, too") {
  const std::string alone = folder / "alone";
  std::filesystem::copy(run + "/best", alone);
  CHECK(contains(weft("info " + alone).out, "\nreads pairs of texts\n"));
  CHECK(contains(weft("info " + run).out, "\nreads pairs of texts\n"));
  folder.write("lines.txt", "a red box\tred lid\n");
  const Outcome lines = weft("classify " + alone + " " + (folder / "lines.txt"));
  CHECK(lines.code == 0);
  CHECK(lines.out == ask("classify", "a red box\tred lid\n").out);
  folder.write("table.csv", "two,text\nred lid,a red box\n");
  const std::string table = alone + " " + (folder / "table.csv");
  CHECK(fails_with(weft("classify " + table), 2, "the model reads pairs of texts, so name the columns of both"));
  CHECK(weft("classify " + table + " --columns text=text,second=two").out == lines.out);
  const std::string pairs = alone + " --data " + (folder / "pairs.csv");
  CHECK(fails_with(weft("eval " + pairs + " --columns label=same,text=one"), 2, "the model reads pairs of texts"));
  CHECK(weft("eval " + pairs + " --columns label=same,text=one,second=two").code == 0);
  CHECK(weft("quantize " + alone + " --to int8 --out " + (folder / "small")).code == 0);
  CHECK(contains(weft("info " + (folder / "small")).out, "reads pairs of texts"));
}

TEST_CASE_FIXTURE(Pairs, "pairs of texts: the report shows both, and the vocabulary has the words of both") {
  const std::string early = folder / "early";  // a checkpoint that makes errors, which the page shows
  CHECK(weft("train --arch gmlp --data " + (folder / "pairs.csv") +
             " --columns label=same,text=one,second=two --seq-len 9 --threads 1 --steps 2 --out " + early)
            .code == 0);
  CHECK(weft("report " + early + " --out " + (folder / "page.html")).code == 0);
  CHECK(contains(folder.read("page.html"), " box | "));
  const Checkpoint checkpoint = load_checkpoint(run);
  for (const char* word : {"box", "lid"})
    CHECK(checkpoint.tokenizer->encode(word) != checkpoint.tokenizer->encode("unseen"));
}

TEST_CASE("pairs of texts: columns given by number are found by name in another table") {
  const TemporaryFolder folder;
  folder.write("pairs.csv", table_of_pairs());
  const std::string run = folder / "run";
  CHECK(weft("train --arch gmlp --data " + (folder / "pairs.csv") + " --columns label=1,text=2,second=3 --seq-len 9" +
             " --threads 1 --steps 2 --out " + run)
            .code == 0);
  folder.write("asked.csv", "id,one,note,two\n1,a red box,x,red lid\n");
  CHECK(contains(weft("classify " + run + " " + (folder / "asked.csv")).err,
                 "text in column \"one\", second text in column \"two\""));
}

TEST_CASE("pairs of texts: regression and several labels read them, tagging does not") {
  const TemporaryFolder folder;
  folder.write("numbers.csv", "y,one,two\n1,a,b\n2,a,c\n3,b,c\n4,d,a\n5,c,c\n6,b,b\n");
  const std::string columns = " --columns label=y,text=one,second=two";
  CHECK(weft("train --arch fnet --task regression --data " + (folder / "numbers.csv") + columns + sizes +
             "--steps 3 --threads 1 --out " + (folder / "run"))
            .code == 0);
  folder.write("asked.txt", "a\tb\n");
  CHECK(weft("predict " + (folder / "run") + " " + (folder / "asked.txt")).code == 0);
  folder.write("alone.txt", "a b\n");
  CHECK(fails_with(weft("predict " + (folder / "run") + " " + (folder / "alone.txt")), 1,
                   "line 1: the model reads pairs"));
  CHECK(fails_with(weft("train --arch fnet --task retrieval --data " + (folder / "numbers.csv") + columns + sizes +
                        "--steps 3 --out " + (folder / "vectors")),
                   2, "the task retrieval reads no column second=NAME"));
  folder.write("tags.csv", "y,one,two\nA,a,b\nB,b,b\nA,a,c\nB,b,d\n");
  CHECK(fails_with(weft("train --arch fnet --task tagging --data " + (folder / "tags.csv") + columns + sizes +
                        "--steps 3 --out " + (folder / "tags")),
                   2, "a tagger reads single texts"));
}

}  // namespace weft::test
