// Tests of commands that read other programs' checkpoints directly, or convert them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "temporary_folder.h"
#include "tools/options/tokenizer_options.h"
#include "train_support.h"
#include "weft/checkpoint_format.h"
#include "weft/classifier.h"
#include "weft/fnet.h"

namespace weft::test {
namespace {

const std::string fnet_format = "huggingface-fnet";

// An FNet with random values.
Checkpoint fnet(Task task, std::shared_ptr<const Tokenizer> tokenizer, const std::string& head = "task") {
  FnetConfig config;
  config.d_model = 8;
  config.seq_len = 32;
  config.head = head;
  Checkpoint made;
  const std::int64_t classes = task != Task::classifier ? 0 : head == "pooler" ? 8 : 3;
  made.model = make_model(model_spec(config, task, tokenizer->size(), classes), Init{Random(3)});
  for (auto [name, parameter] : made.model->parameters())
    parameter.assign(Random(7).uniform(parameter.value().shape(), -0.3, 0.3, DType::f32));
  made.tokenizer = std::move(tokenizer);
  if (task == Task::classifier && head == "task") made.info.labels = {"1", "2", "3"};
  return made;
}

std::shared_ptr<const Tokenizer> ids() { return tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})"); }

// Returns a tokenizer learned with "unigram", or null without SentencePiece.
std::shared_ptr<const Tokenizer> pieces() {
  register_optional_tokenizers();
  const std::vector<std::string> kinds = tokenizer_kinds();
  if (std::find(kinds.begin(), kinds.end(), "fnet") == kinds.end()) return nullptr;
  auto learned = nlohmann::json::parse(learn_tokenizer("unigram", small_text(), {{}, 320, 1})->to_json());
  learned["unit"] = "fnet";
  learned["cls_token"] = "[cls]";
  learned["mask_token"] = "[mask]";
  learned["sep_token"] = "<unk>";
  return tokenizer_from_json(learned.dump());
}

std::string numbered_rows() {
  std::string text = "label,text\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i % 3 + 1) + ",the quick line " + std::to_string(i) + "\n";
  return text;
}

}  // namespace

TEST_CASE("weft convert: to weft's format and back, with notes on what can't be stored or is left out") {
  const TemporaryFolder folder;
  const std::string in = folder / "in", own = folder / "own", back = folder / "back";
  (void)save_checkpoint_as(fnet_format, in, fnet(Task::masked_lm, ids()));
  const Outcome there = weft("convert " + in + " " + own);
  CAPTURE(there.err);
  REQUIRE(there.code == 0);
  CHECK(contains(there.out, "huggingface-fnet -> weft: fnet masked-lm, "));
  CHECK(contains(there.out, "note: there is neither a spiece.model nor a tokenizer.json: write texts as token ids"));
  CHECK(load_checkpoint(own).info.format.empty());
  const Outcome here = weft("convert --from weft --to " + fnet_format + " " + own + " " + back);
  REQUIRE(here.code == 0);
  CHECK(contains(here.out, "weft -> huggingface-fnet"));
  CHECK(contains(here.out, "note: this format can't store the tokenizer (ids)"));
  CHECK(folder.read("back/model.safetensors") == folder.read("in/model.safetensors"));
  CHECK(folder.read("back/config.json") == folder.read("in/config.json"));
  CHECK(fails_with(weft("convert " + in + " " + own), 1,
                   "already contains a checkpoint, or a part of one (model.safetensors): --overwrite replaces it"));
  CHECK(weft("convert --overwrite " + in + " " + own).code == 0);
  CHECK(fails_with(weft("convert " + in + " " + in), 1, "the checkpoint to be converted"));
  CHECK(fails_with(weft("convert --from " + fnet_format + " " + in + "/model.safetensors " + in + " --overwrite"), 1,
                   "the checkpoint to be converted"));
  folder.write("theirs/config.json", "{}");
  CHECK(fails_with(weft("convert " + in + " " + (folder / "theirs")), 1, "already contains a checkpoint"));
  CHECK(folder.read("theirs/config.json") == "{}");
  CHECK(fails_with(weft("convert " + in), 2, "give IN, the checkpoint to convert, and OUT"));
  CHECK(fails_with(weft("convert --from onnx " + in + " " + own), 2, "unknown format \"onnx\""));
  folder.write("nothing/config.json", "{}");
  CHECK(fails_with(weft("convert " + (folder / "nothing") + " " + (folder / "x")), 1,
                   "doesn't name its format: give --from"));
  CHECK(fails_with(weft("convert --from " + fnet_format + " " + (folder / "nothing") + " " + (folder / "x")), 1,
                   "nothing/model.safetensors"));
  // Converts a run.
  folder.write("text", small_text());
  const std::string run = folder / "run";
  REQUIRE(weft("train --arch fnet --text " + (folder / "text") +
               " --layers 1 --d-model 8 --seq-len 8 --steps 2 --out " + run)
              .code == 0);
  const Outcome of_run = weft("convert " + run + " " + (folder / "hf") + " --to " + fnet_format);
  CAPTURE(of_run.err);
  CHECK(of_run.code == 0);
  CHECK(contains(of_run.out, "note: the model has no pooler"));
  CHECK(fails_with(weft("convert " + in + " " + run), 1, "OUT names the folder of a run"));
  REQUIRE(weft("train --arch gmlp --text " + (folder / "text") +
               " --layers 1 --d-model 8 --seq-len 8 --steps 2 --out " + (folder / "gmlp"))
              .code == 0);
  CHECK(fails_with(weft("convert " + (folder / "gmlp") + " " + (folder / "no") + " --to " + fnet_format), 1,
                   "the format is for FNet, but this model has the architecture gmlp"));
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
}

TEST_CASE("weft convert: a state dict with its arguments continues texts as before") {
  const TemporaryFolder folder;
  const std::string theirs = std::string(WEFT_INTEROP) + "/fairseq-tnn", own = folder / "own", back = folder / "back";
  CHECK(fails_with(weft("convert " + theirs + " " + own), 1, "doesn't name its format: give --from"));
  const Outcome there = weft("convert --from fairseq-tnn " + theirs + " " + own);
  CAPTURE(there.err);
  REQUIRE(there.code == 0);
  CHECK(contains(there.out, "fairseq-tnn -> weft: tnn causal-lm"));
  CHECK(contains(there.out, "note: the tensor decoder.version is ignored"));
  const Outcome info = weft("info " + own);
  CHECK(contains(info.out, R"("final_norm":"layernorm","tied":false})"));
  CHECK_FALSE(contains(info.out, "trained on sequences"));  // the file doesn't record it
  CHECK(weft("generate " + own + " --prompt '1 2' --tokens 4").code == 0);
  REQUIRE(weft("convert --to fairseq-tnn " + own + " " + back).code == 0);
  REQUIRE(weft("convert --from fairseq-tnn " + back + "/model.safetensors " + (folder / "again")).code == 0);
  CHECK(weft("info " + (folder / "again")).out == info.out);
  CHECK(fails_with(weft("convert --from fairseq-tnn --task masked-lm " + theirs + " " + (folder / "no")), 1,
                   "fairseq-tnn does not support the task masked-lm"));
}

TEST_CASE("weft info of another program's checkpoint names its format") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as(fnet_format, folder / "in", fnet(Task::masked_lm, ids()));
  const Outcome info = weft("info " + (folder / "in"));
  CAPTURE(info.err);
  REQUIRE(info.code == 0);
  CHECK(contains(info.out, "format huggingface-fnet\n"));
  CHECK(contains(info.out, "note: there is neither a spiece.model"));
  CHECK(contains(info.out, "\"head\":\"pooler\""));
  CHECK(contains(info.out, "encoder.layers.1.output_norm.bias"));
  CHECK(fails_with(weft("classify " + (folder / "in") + " </dev/null"), 1, "got a model for the task masked-lm"));
}

TEST_CASE(
    "weft classify, fill-mask, eval and train --from read other programs' checkpoints directly, also with --pad-to") {
  const TemporaryFolder folder;
  const auto tokenizer = pieces();
  if (!tokenizer) return;
  const std::string classifier = folder / "classifier", words = folder / "words", base = folder / "base";
  (void)save_checkpoint_as(fnet_format, classifier, fnet(Task::classifier, tokenizer));
  (void)save_checkpoint_as(fnet_format, words, fnet(Task::masked_lm, tokenizer));
  (void)save_checkpoint_as(fnet_format, base, fnet(Task::classifier, tokenizer, "pooler"));
  folder.write("texts", "the quick\nline 7\n");
  const auto first = [&](const Outcome& outcome) {
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return nlohmann::json::parse(outcome.out.substr(0, outcome.out.find('\n')));
  };
  const std::string texts = " " + (folder / "texts") + " --json";
  for (const std::int64_t pad_to : {0, 24}) {
    Checkpoint loaded = load_checkpoint(classifier);
    loaded.info.pad_to = pad_to;
    const Classifier own(std::move(loaded));
    const Outcome outcome = weft("classify " + classifier + texts + " --pad-to " + std::to_string(pad_to));
    const Prediction want = own("the quick");
    CHECK(first(outcome)["labels"][0]["label"] == want.label);
    CHECK(first(outcome)["labels"][0]["probability"].get<double>() == doctest::Approx(want.probability).epsilon(1e-4));
    if (pad_to == 0) CHECK(weft("classify " + classifier + texts).out == outcome.out);
    else CHECK(weft("classify " + classifier + texts).out != outcome.out);
  }
  CHECK(fails_with(weft("classify " + classifier + texts + " --pad-to 33"), 1, "the model takes at most 32 tokens"));
  CHECK(fails_with(weft("classify " + base + texts), 1, "an encoder whose outputs are features"));
  folder.write("gaps", "the [mask] brown\n");
  const std::string gaps = "fill-mask " + words + " " + (folder / "gaps");
  const Outcome filled = weft(gaps), padded = weft(gaps + " --pad-to 32");
  CAPTURE(filled.err);
  CHECK(filled.code == 0);
  CHECK(padded.code == 0);
  CHECK(filled.out != padded.out);
  folder.write("rows.csv", numbered_rows());
  const std::string eval = "eval " + classifier + " --json --data " + (folder / "rows.csv");
  CHECK(first(weft(eval))["predicted"] == 12);
  CHECK(first(weft(eval))["loss"] != first(weft(eval + " --pad-to 32"))["loss"]);
  folder.write("text", small_text());
  CHECK(weft("eval " + words + " --text " + (folder / "text")).code == 0);
  CHECK(fails_with(weft("eval " + words + " --pad-to 16 --text " + (folder / "text")), 2,
                   "--pad-to applies only to --data"));
  for (const std::string& from : {base, words, classifier}) {
    CAPTURE(from);
    const std::string run = from + "-run";
    const Outcome trained =
        weft("train --from " + from + " --data " + (folder / "rows.csv") + " --steps 2 --batch 4 --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(first(weft("classify " + run + texts))["labels"].size() == 1);
    CHECK(load_checkpoint(run).model->config().find("head") == std::string::npos);
    CHECK(load_checkpoint(run).info.pad_to == 32);
  }
}

}  // namespace weft::test
