// Tests of weft tokenizer, weft train --tokenizer, and further options of generate.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <thread>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/generate.h"

namespace weft::test {
namespace {

const std::string three_steps = " --layers 1 --d-model 16 --seq-len 8 --batch 4 --steps 3 --overwrite ";

bool has_sentencepiece() {
  const Outcome help = weft("train --help");
  return contains(help.out, "bpe");
}

}  // namespace

TEST_CASE("weft train --tokenizer: each kind trains, evaluates and continues a text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string text = " --text " + (folder / "text"), run = folder / "run";
  for (const std::string kind : {"characters", "bytes", "words", "wordpunct", "whitespace"}) {
    CAPTURE(kind);
    const Outcome trained =
        weft("train --arch gmlp" + text + three_steps + "--split 90/10/0 --tokenizer " + kind + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(load_checkpoint(run).tokenizer->kind() == kind);
    const Outcome evaluated = weft("eval " + run + text);
    const double loss = number_after(evaluated.out, "validation loss ");
    CHECK(loss == number_after(trained.out, "validation loss "));
    CHECK(number_after(evaluated.out, "perplexity ") == doctest::Approx(std::exp(loss)).epsilon(1e-3));
    CHECK(number_after(evaluated.out, "bits per byte ") == number_after(trained.out, "bits per byte "));
    const Outcome generated = weft("generate --tokens 5 --prompt 'line 7' " + run);
    CHECK(generated.code == 0);
    CHECK(generated.out.rfind("line 7", 0) == 0);
    CHECK(contains(generated.err, "tokens/s "));
  }
  CHECK(number_after(weft("eval " + run + text).out, "bits per byte ") > 0);
  CHECK_FALSE(std::filesystem::exists(folder / "run/tokens.ids"));  // only long texts have such a file
}

TEST_CASE("weft tokenizer train: its defaults and its example work in this build") {
  const TemporaryFolder folder;
  folder.write("book.txt", small_text());
  CHECK(weft("tokenizer train " + (folder / "book.txt") + " --size 400 --out " + (folder / "usual")).code == 0);
  const std::string help = weft("tokenizer train --help").out;
  const std::size_t at = help.rfind("weft tokenizer train book.txt");
  REQUIRE(at != std::string::npos);
  std::string example = help.substr(at + 5, help.find('\n', at) - at - 5);
  example.replace(example.find("book.txt"), 8, folder / "book.txt");
  example.replace(example.rfind("book."), 5, folder / "book.");
  example.replace(example.find("--size 8000"), 11, "--size 400");
  const Outcome learned = weft(example);
  CAPTURE(learned.err);
  CHECK(learned.code == 0);
}

TEST_CASE("weft tokenizer train: a file for any task") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  std::string csv;
  for (int i = 0; i < 40; ++i) csv += std::to_string(i % 2 + 1) + (i % 2 == 0 ? ",\"red (x)\"" : ",blue") + ",\n";
  folder.write("rows", csv);
  const std::string file = folder / "tokens.json";
  const Outcome learned =
      weft("tokenizer train " + (folder / "text") + " --kind wordpunct --min-count 1 --size 30 --out " + file);
  CAPTURE(learned.err);
  REQUIRE(learned.code == 0);
  CHECK(number_after(learned.out, "symbols ") == 30);
  CHECK(contains(learned.out, "kind wordpunct\n"));
  CHECK(number_after(learned.out, "bytes/token ") > 2);
  const std::string json = folder.read("tokens.json");
  for (const std::string& data : {"--arch gmlp --text " + (folder / "text"), "--arch fnet --text " + (folder / "text"),
                                  "--arch fnet --csv " + (folder / "rows")}) {
    CAPTURE(data);
    const Outcome trained = weft("train " + data + three_steps + "--tokenizer " + file + " --out " + (folder / "run"));
    CAPTURE(trained.err);
    CHECK(trained.code == 0);
    CHECK(load_checkpoint(folder / "run").tokenizer->to_json() + "\n" == json);
  }
  for (const std::string kind : {"characters", "bytes"}) {
    REQUIRE(weft("tokenizer train " + (folder / "text") + " --kind " + kind + " --out " + file).code == 0);
    CHECK(weft("train --arch gmlp --csv " + (folder / "rows") + three_steps + "--tokenizer " + file + " --out " +
               (folder / "run"))
              .code == 0);
  }
  REQUIRE(weft("tokenizer train " + (folder / "text") + " --kind characters --task causal-lm --out " + file).code == 0);
  const Outcome masked = weft("train --arch fnet --text " + (folder / "text") + three_steps + "--tokenizer " + file +
                              " --out " + (folder / "m"));
  CHECK(fails_with(masked, 1, "needs a tokenizer with a mask symbol"));
  CHECK(fails_with(weft("train --arch gmlp --csv " + (folder / "rows") + three_steps + "--tokenizer " + file +
                        " --out " + (folder / "m")),
                   1, "was not made for a classifier"));
}

TEST_CASE("weft tokenizer train: a text from a pipe, which can be read once") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe", file = folder / "tokens.json";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { folder.write("pipe", small_text()); });
  const Outcome learned = weft("tokenizer train " + pipe + " --kind words --out " + file);
  writer.join();
  CAPTURE(learned.err);
  CHECK(learned.code == 0);
  CHECK(number_after(learned.out, "bytes/token ") > 2);
}

TEST_CASE("weft tokenizer: bpe and unigram, if weft has SentencePiece") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string file = folder / "pieces";
  for (const std::string kind : {"bpe", "unigram"}) {
    const Outcome learned =
        weft("tokenizer train " + (folder / "text") + " --kind " + kind + " --size 300 --out " + file);
    CAPTURE(learned.err);
    if (!has_sentencepiece()) {
      CHECK(fails_with(learned, 2, "libsentencepiece-dev"));
      continue;
    }
    REQUIRE(learned.code == 0);
    CHECK(number_after(learned.out, "symbols ") <= 300);
    const Outcome small = weft("tokenizer train " + (folder / "text") + " --size 9 --out x --kind " + kind);
    CHECK(fails_with(small, 1, "can't learn " + kind + " of 9 symbols"));
    CHECK(number_after(small.err, "characters already need ") > 256);
    CHECK(contains(small.err, "; choose a larger size"));
    const std::string run = folder / kind;
    for (const std::string& tokenizer : {file, kind + " --vocabulary-size 300"})
      CHECK(weft("train --arch gmlp --text " + (folder / "text") + three_steps + "--tokenizer " + tokenizer +
                 " --out " + run)
                .code == 0);
    CHECK(contains(weft("generate --prompt 'Zoë ' --tokens 4 --checkpoint " + run).out, "Zoë "));
  }
}

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer keeps freed memory
TEST_CASE("neither a long text nor its ids are in memory, and its ids are reused") {
  const TemporaryFolder folder;
  folder.write("short", small_text());
  std::string text;
  while (text.size() < 40000000) text += small_text();
  folder.write("long", text);
  const auto train = [&](const std::string& name, const std::string& options) {
    const Outcome outcome = weft("train --arch gmlp --layers 1 --d-model 8 --seq-len 64 --batch 64 --steps 20 --text " +
                                 (folder / name) + " --overwrite --out " + (folder / "run") + " " + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const double least = number_after(train("short", ""), "peak memory ");
  for (const std::string kind : {"characters", "bytes", "whitespace"}) {
    CAPTURE(kind);
    const std::string options = "--split 98/1/1 --eval-every 20 --tokenizer " + kind;
    const std::string first = train("long", options);
    CHECK(number_after(first, "peak memory ") < least + 60);  // in MB; the text takes 40 MB, and its ids take 80 MB
    const std::string ids = folder.read("run/tokens.ids"), model = folder.read("run/last/model.safetensors");
    CHECK(ids.size() > 1000000);
    CHECK(number_after(train("long", options), "validation loss ") == number_after(first, "validation loss "));
    CHECK(folder.read("run/tokens.ids") == ids);
    CHECK(folder.read("run/last/model.safetensors") == model);
  }
}
#endif

TEST_CASE("tokenizers that are invalid") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("empty", "");
  folder.write("utf16", std::string("\xFF\xFEw\0e\0", 6));
  folder.write("cut", "caf\xC3");
  folder.write("tokens.json", "{\"unit\":\"words\"}");
  folder.write("noise", "noise");
  folder.write("half.json", "{\"unit\":\"words\",\"wor");
  const std::string train =
      "train --arch gmlp --text " + (folder / "text") + three_steps + "--out " + (folder / "run") + " ";
  for (const std::string none : {"syllables", "missing.bpe", "missing.model"}) {
    const Outcome refused = weft(train + "--tokenizer " + none);
    CHECK(
        fails_with(refused, 2, "--tokenizer: [tokenizer] unknown kind \"" + none + "\", expected one of characters, "));
    CHECK(contains(refused.err, "; there is no file with this name, either"));
  }
  CHECK(fails_with(weft(train + "--tokenizer " + (folder / "missing")), 1, "missing"));
  CHECK(fails_with(weft(train + "--tokenizer " + (folder / "tokens.json")), 1, "tokens.json"));
  CHECK(fails_with(weft(train + "--tokenizer " + (folder / "noise")), 1, "noise"));
  const Outcome half = weft(train + "--tokenizer " + (folder / "half.json"));
  CHECK(fails_with(half, 1, "half.json\": [tokenizer] the tokenizer is damaged: expected JSON; it may be truncated"));
  CHECK(fails_with(weft(train + "--tokenizer " + (folder / "")), 1, "--from RUN` starts with the tokenizer"));
  const std::string learn = "tokenizer train --out " + (folder / "out") + " ";
  CHECK(fails_with(weft(learn + (folder / "empty") + " --kind words"), 1, "empty\" is empty"));
  CHECK(fails_with(weft(learn + (folder / "utf16") + " --kind words"), 1, "utf16"));
  CHECK(fails_with(weft(learn + (folder / "cut") + " --kind words"), 1, "invalid UTF-8 at byte 3"));
  CHECK(fails_with(weft(learn + (folder / "missing") + " --kind words"), 1, "missing"));
  CHECK(
      fails_with(weft(learn + (folder / "text") + " --kind verses"), 2, "--kind: [tokenizer] unknown kind \"verses\""));
  CHECK(fails_with(weft("tokenizer train --kind words " + (folder / "text") + " --out " + (folder / "./text")), 1,
                   "--out names the text"));
  CHECK(fails_with(weft("tokenizer"), 2, "give a subcommand: train"));
  CHECK(fails_with(weft("tokenizer tran x"), 2, "unknown command \"tran\"; did you mean train?"));
  CHECK(fails_with(weft("tokenizer train --sizes 3"), 2,
                   "unknown option --sizes of weft tokenizer train; did you mean --size?"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
  // A resumed run uses its own tokenizer, and so does a run that starts with its parameters.
  REQUIRE(weft(train).code == 0);
  const std::string resume = "train --steps 5 --resume " + (folder / "run"),
                    from = "train --text " + (folder / "text") + " --from " + (folder / "run") + " --out x";
  CHECK(fails_with(weft(resume + " --tokenizer bytes"), 2, "leave out --tokenizer"));
  for (const char* option : {" --tokenizer bytes", " --vocabulary-size 9", " --min-count 2"})
    CHECK(fails_with(weft(from + option), 2, "excludes --from"));
  CHECK(weft(resume).code == 0);
}

TEST_CASE("kinds of tokenizers that can't be learned can't be chosen") {
  for (const std::string page : {"tokenizer train --help", "train --help"}) {
    const std::string help = weft(page).out;
    CHECK(contains(help, "words, wordpunct"));
    CHECK_FALSE(contains(help, ", sentencepiece"));
  }
  if (!has_sentencepiece()) return;
  for (const std::string typed : {"tokenizer train x --out y --kind sentencepiece",
                                  "train --arch gmlp --text x --out y --tokenizer sentencepiece"})
    CHECK(fails_with(weft(typed), 2,
                     "sentencepiece can only be read from an existing file; these kinds can be learned: characters, "));
}

TEST_CASE("a resumed run uses its own tokenizer, even if the tokenizer's file has changed") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string file = folder / "tokens.json", run = folder / "run";
  const std::string learn = "tokenizer train " + (folder / "text") + " --out " + file + " --kind ";
  REQUIRE(weft(learn + "wordpunct").code == 0);
  const std::string json = folder.read("tokens.json");
  REQUIRE(weft("train --arch gmlp --text " + (folder / "text") + three_steps + "--tokenizer " + file + " --out " + run)
              .code == 0);
  CHECK(contains(folder.read("run/run.json"), "\"tokenizer\": \"" + file + "\""));
  REQUIRE(weft(learn + "bytes").code == 0);
  CHECK(weft("train --steps 5 --resume " + run).code == 0);
  CHECK(load_checkpoint(run).tokenizer->to_json() + "\n" == json);
}

TEST_CASE("an earlier version's characters, without an unknown symbol: other characters are refused") {
  const TemporaryFolder folder;
  const auto old = tokenizer_from_json(R"({"unit":"characters","characters":"abc\n","mask":false})");
  const auto model = make_model({"gmlp", Task::causal_lm, old->size(), 0, R"({"layers":1,"d_model":16,"seq_len":8})"},
                                {Random(1).split(0), DType::f32});
  save_checkpoint(folder / "old", *model, *old);
  CHECK(weft("generate --prompt abc " + (folder / "old")).code == 0);
  CHECK(fails_with(weft("generate --prompt Q " + (folder / "old")), 1, "U+0051"));
}

TEST_CASE("generate states once why a model is slow, and says nothing about other models") {
  const TemporaryFolder folder;
  const auto tokenizer = characters("abc");
  for (const std::string type : {"1", "2", "3"}) {
    const auto model = make_model(
        {"tnn", Task::causal_lm, tokenizer->size(), 0, R"({"layers":1,"d_model":8,"par_type":)" + type + "}"},
        {Random(1), DType::f32});
    save_checkpoint(folder / type, *model, *tokenizer);
    const Outcome outcome = weft("generate --prompt ab --tokens 3 --num-samples 2 " + (folder / type));
    CHECK(outcome.code == 0);
    CHECK(contains(
              outcome.err,
              "weft: generation is slow, because each symbol needs a forward pass over the whole text: with par_type " +
                  type) == (type != "1"));
    CHECK(contains(outcome.err, "slow") == (type != "1"));
  }
}

TEST_CASE("generate: prompts from a file and standard input, texts that end it, several samples, top-p") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("tnn", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  const std::string generate = "generate --tokens 40 --checkpoint " + (folder / "run") + " ";
  const auto text = [&](const std::string& options) {
    const Outcome outcome = weft(generate + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  folder.write("prompt", "line\nfox\n");
  const std::string plain = text("--prompt 'line\nfox'");
  CHECK(text("--prompt-file " + (folder / "prompt")) == plain);
  CHECK(text("--prompt-file - <" + (folder / "prompt")) == plain);
  CHECK(text("--prompt - <" + (folder / "prompt")) == plain);
  CHECK(fails_with(weft(generate + "--prompt - <" + (folder / "")), 1, "can't read standard input: Is a directory"));
  const std::string stop = plain.substr(20, 2);
  const std::string stopped = text("--prompt 'line\nfox' --stop '" + stop + "' --stop never");
  CHECK(stopped == plain.substr(0, plain.find(stop, 8)) + "\n");
  CHECK(text("--prompt line --seed 4 --num-samples 3") == text("--prompt line --seed 4") + "---------------\n" +
                                                              text("--prompt line --seed 5") + "---------------\n" +
                                                              text("--prompt line --seed 6"));
  // The samples need more than one batch. Some samples end early, the first before the second.
  const std::string stops = "--prompt line --stop '" + plain.substr(12, 1) + "' ";
  std::string all;
  for (int seed = 4; seed < 15; ++seed)
    all += (all.empty() ? "" : "---------------\n") + text(stops + "--seed " + std::to_string(seed));
  CHECK(text(stops + "--seed 4 --num-samples 11") == all);
  CHECK(text("--prompt a --tokens 0 --num-samples 2") == "a\n---------------\na\n");
  for (const char* options : {"--prompt 'line fox line fox' ", "--prompt a --temperature 0 ", "--prompt a --stop o "})
    CHECK(text(std::string(options) + "--speculate") == text(options));
  CHECK(fails_with(weft(generate + "--prompt a --speculate --num-samples 2"), 2, "--num-samples"));
  CHECK(text("--prompt line --top-p 1e-9 --seed 1") == text("--prompt line --temperature 0 --seed 2"));
  CHECK(text("--prompt line --top-p 0.5 --seed 1") != text("--prompt line --seed 1"));
}

}  // namespace weft::test
