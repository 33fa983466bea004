// Tests of Hugging Face's FNet with its tokenizer. This file isn't built without SentencePiece.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "fnet_tokenizer_support.h"
#include "formats/sentencepiece_model.h"
#include "huggingface_tokenizer_support.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_format.h"
#include "weft/classifier.h"
#include "weft/fill_mask.h"
#include "weft/fnet.h"

namespace weft::test {

using namespace fnet_pieces;

TEST_CASE("Hugging Face FNet with its tokenizer: special symbols, pairs, padding, classification, gaps, written back") {
  register_sentencepiece();
  const TemporaryFolder folder;
  const std::int64_t size = tokenizer()->size();
  FnetConfig config;
  config.d_model = 8;
  config.seq_len = 24;
  config.separator = 5;
  const auto made = [&](const std::string& name, Task task, std::int64_t classes) {
    Checkpoint checkpoint;
    checkpoint.model = make_model(model_spec(config, task, size, classes), Init{Random(3)});
    for (auto [own, parameter] : checkpoint.model->parameters())
      parameter.assign(Random(7).uniform(parameter.value().shape(), -0.3, 0.3, DType::f32));
    checkpoint.tokenizer = tokenizer({{"keep_accents", true}});
    if (classes > 0) checkpoint.info.labels = {"sad", "glad", "so-so"};
    CHECK(save_checkpoint_as("huggingface-fnet", folder / name, checkpoint).size() == (classes > 0 ? 0 : 1));
    return load_checkpoint(folder / name);
  };
  Checkpoint rows = made("rows", Task::classifier, 3);
  CHECK(rows.tokenizer->to_json() == tokenizer({{"keep_accents", true}, {"size", size}})->to_json());
  const auto& model_of_rows = dynamic_cast<const Fnet&>(*rows.model);
  CHECK(model_of_rows.config().find("\"separator\":5") != std::string::npos);
  const auto settings = Json::parse(folder.read("rows/tokenizer_config.json"));
  CHECK(settings["tokenizer_class"] == "FNetTokenizer");
  CHECK(settings["keep_accents"] == true);
  CHECK(settings["do_lower_case"] == false);
  CHECK_FALSE(settings.contains("model"));
  const auto softmaxed = [&](const Ids& row, const Ids& types) {
    const std::int64_t n = std::ssize(row);
    return softmax(model_of_rows.run(Tensor::from(row, {1, n}), Tensor::from(types, {1, n})).classes, -1)
        .to_vector<float>();
  };
  const auto compare = [](const std::vector<double>& ours, const std::vector<float>& theirs) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(ours[i] == doctest::Approx(theirs[i]).epsilon(1e-5));
  };
  const Ids fox = pieces_of("the fox"), dogs = pieces_of("lazy dogs");
  const Ids one = Ids{4} + fox + Ids{5}, two = one + dogs + Ids{5};
  const Ids first(one.size(), 0), second(dogs.size() + 1, 1);
  const std::string folder_of_rows = folder / "rows";
  {
    const Classifier classifier(load_checkpoint(folder_of_rows));
    compare(classifier.probabilities("the fox"), softmaxed(one, first));
    compare(classifier.probabilities("the fox [SEP] lazy dogs"), softmaxed(two, first + second));
  }
  Checkpoint padded = load_checkpoint(folder_of_rows);
  padded.info.pad_to = 24;
  const Classifier classifier(std::move(padded));
  const auto fill = [](Ids ids, std::int64_t with) {
    ids.resize(24, with);
    return ids;
  };
  compare(classifier.probabilities("the fox"), softmaxed(fill(one, 3), fill(first, 0)));
  compare(classifier.probabilities("the fox[SEP]lazy dogs"), softmaxed(fill(two, 3), fill(first + second, 0)));
  std::string longer = "the fox";
  for (int i = 0; i < 40; ++i) longer += " fox";
  CHECK_NOTHROW((void)classifier.probabilities(longer));
  // Filling gaps.
  Checkpoint words = made("words", Task::masked_lm, 0);
  for (const std::int64_t pad_to : {0, 24}) {
    words.info.pad_to = pad_to;
    const FilledText filled = fill_mask(words, "the [MASK] dogs", 0);
    REQUIRE(filled.gaps.size() == 1);
    const FilledText lower = fill_mask(words, "the [mask] dogs", 0);
    CHECK(lower.text == filled.text);
    CHECK(lower.gaps[0][0].probability == filled.gaps[0][0].probability);
    Ids row = Ids{4} + pieces_of("the") + Ids{6} + pieces_of("dogs") + Ids{5};
    if (pad_to > 0) row = fill(row, 3);
    const auto place = static_cast<std::int64_t>(1 + pieces_of("the").size());
    const Tensor logits = (*words.model)(Tensor::from(row, {1, std::ssize(row)}));
    const auto p = softmax(slice(logits, 1, place, place + 1), -1).to_vector<float>();
    std::int64_t best = -1;
    for (std::int64_t id = 0; id < size; ++id)
      if (!words.tokenizer->special().has(id) &&
          (best < 0 || p[static_cast<std::size_t>(id)] > p[static_cast<std::size_t>(best)]))
        best = id;
    CHECK(filled.gaps[0][0].label == words.tokenizer->decode(best));
    CHECK(filled.gaps[0][0].probability == doctest::Approx(p[static_cast<std::size_t>(best)]).epsilon(1e-4));
  }
  // A gMLP treats id 0 as padding.
  Checkpoint gmlp;
  gmlp.model = make_model({"gmlp", Task::classifier, size, 3, R"({"d_model":8})"}, {});
  gmlp.tokenizer = tokenizer();
  CHECK_THROWS_WITH((void)Classifier(std::move(gmlp)), doctest::Contains("ignores id 0 as padding"));
  LabeledTexts texts = small_rows();
  const LabeledTexts test = every_tenth(texts);
  const ClassifierData data(texts, test, tokenizer(), 24, 4);
  const auto trained = make_model({"gmlp", Task::classifier, size, 3, R"({"d_model":8,"seq_len":24})"}, {});
  CHECK_THROWS_WITH((void)Trainer(*trained, data, small_options(2)), doctest::Contains("ignores id 0 as padding"));
  CHECK_THROWS_WITH((void)evaluate(*trained, data), doctest::Contains("ignores id 0 as padding"));
  const auto fnet = make_model(model_spec(config, Task::classifier, size, 3), {});
  CHECK_NOTHROW((void)evaluate(*fnet, data));
}

TEST_CASE("Hugging Face FNet: a tokenizer's settings are read, checked by name, and must fit the model") {
  register_sentencepiece();
  const TemporaryFolder folder;
  FnetConfig config;
  config.d_model = 8;
  Checkpoint checkpoint;
  checkpoint.model = make_model(model_spec(config, Task::masked_lm, tokenizer()->size() + 3), {});
  checkpoint.tokenizer = tokenizer({{"size", tokenizer()->size() + 3}});
  (void)save_checkpoint_as("huggingface-fnet", folder / "fnet", checkpoint);
  CHECK(load_checkpoint(folder / "fnet").tokenizer->size() == tokenizer()->size() + 3);
  folder.write("fnet/tokenizer_config.json", R"({"mask_token":{"content":"<s>","lstrip":true},"keep_accents":true})");
  const Checkpoint read = load_checkpoint(folder / "fnet");
  CHECK(read.tokenizer->special().mask == 1);
  CHECK(read.tokenizer->encode("fóx") == pieces_of("fóx"));
  folder.write("fnet/tokenizer_config.json", R"({"do_lower_case":true})");
  CHECK(load_checkpoint(folder / "fnet").tokenizer->encode("The FÓX") == pieces_of("the fox"));
  folder.write("fnet/tokenizer_config.json", "[");
  CHECK_THROWS_WITH((void)load_checkpoint(folder / "fnet"), doctest::Contains("tokenizer_config.json"));
  std::filesystem::remove(folder / "fnet/tokenizer_config.json");
  std::filesystem::remove(folder / "fnet/tokenizer.json");
  CHECK_NOTHROW((void)load_checkpoint(folder / "fnet"));
  folder.write("fnet/spiece.model", "nothing");
  CHECK_THROWS_WITH((void)load_checkpoint(folder / "fnet"),
                    doctest::Contains("spiece.model\": [tokenizer] the data are not a SentencePiece model"));
}

namespace {

const std::vector<std::string> texts = {"The quick  FÓX, 1,000, ``dogs'' ", "[MASK] fox<s> <pad>", "x ﬁ lazy\u3000漢",
                                        ""};

}  // namespace

TEST_CASE("Hugging Face FNet: a folder with only tokenizer.json, as transformers 5 writes it, has the same tokenizer") {
  for (const bool accents : {false, true})
    for (const bool lower : {false, true}) {
      CAPTURE(accents);
      CAPTURE(lower);
      const auto t = tokenizer({{"keep_accents", accents}, {"do_lower_case", lower}});
      Alone alone(t);
      const auto same = [&] {
        const auto read = alone.read();
        CHECK(read->kind() == std::string("fnet"));
        CHECK(read->size() == t->size());
        CHECK(read->special().pad == 3);
        CHECK(read->special().mask == 6);
        for (const std::string& text : texts) CHECK(read->encode(text) == t->encode(text));
        for (std::int64_t id = 0; id < t->size(); ++id) CHECK(read->decode(id) == t->decode(id));
      };
      same();
      // The pre-tokenizer lacks keys that older versions omit. The padding has no effect. The settings in
      // tokenizer.json take precedence over those in tokenizer_config.json.
      alone.json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"add_prefix_space", true}};
      alone.json["padding"] = {{"length", 9}};
      alone.folder.write("fnet/tokenizer_config.json", R"({"keep_accents":false,"do_lower_case":false})");
      same();
      // The file is written back.
      const Checkpoint read = load_checkpoint(alone.path);
      (void)save_checkpoint_as("huggingface-fnet", alone.folder / "back", read);
      const Json back = Json::parse(alone.folder.read("back/tokenizer.json"));
      for (const char* key : {"normalizer", "post_processor", "model", "added_tokens"})
        CHECK(back[key] == alone.json[key]);
      const auto again = load_checkpoint(alone.folder / "back").tokenizer;
      for (const std::string& text : texts) CHECK(again->encode(text) == t->encode(text));
    }
}

TEST_CASE("Hugging Face FNet: tokenizer.json as transformers' AlbertConverter writes it") {
  const Alone alone(tokenizer({{"do_lower_case", true}}));
  const Json& json = alone.json;
  const Json& steps = json["normalizer"]["normalizers"];
  REQUIRE(steps.size() == 7);
  CHECK(steps[0].dump() == R"({"type":"Replace","pattern":{"String":"``"},"content":"\""})");
  CHECK(steps[1].dump() == R"({"type":"Replace","pattern":{"String":"''"},"content":"\""})");
  for (const std::size_t i : {2, 3, 4})
    CHECK(steps[i]["type"] == std::vector{"NFKD", "StripAccents", "Lowercase"}[i - 2]);
  CHECK(steps[5]["precompiled_charsmap"].get<std::string>().size() > 1000);
  CHECK(steps[6].dump() == R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})");
  CHECK(json["pre_tokenizer"].dump() ==
        R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})");
  CHECK(json["post_processor"]["special_tokens"].dump() ==
        R"({"[CLS]":{"id":"[CLS]","ids":[4],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[5],"tokens":["[SEP]"]}})");
  CHECK(json["post_processor"]["pair"].dump() ==
        R"([{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
        R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
        R"({"SpecialToken":{"id":"[SEP]","type_id":1}}])");
  REQUIRE(json["added_tokens"].size() == 7);
  CHECK(json["added_tokens"][6].dump() == R"({"id":6,"content":"[MASK]","single_word":false,"lstrip":true,)"
                                          R"("rstrip":false,"normalized":false,"special":true})");
  CHECK(json["added_tokens"][5]["lstrip"] == false);
  CHECK(json["model"]["unk_id"] == 0);
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(model()).ok());
  const Json& vocab = json["model"]["vocab"];
  REQUIRE(std::ssize(vocab) == processor.GetPieceSize());
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    CHECK(vocab[static_cast<std::size_t>(id)][0] == processor.IdToPiece(id));
    const std::string& name = processor.IdToPiece(id);
    const float less = name == "\u25811," || name == "1," ? 100.f : 0.f;
    CHECK(vocab[static_cast<std::size_t>(id)][1].get<float>() == processor.GetScore(id) - less);
  }
}

TEST_CASE("Hugging Face FNet: a tokenizer.json of another kind is refused by name") {
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Alone alone(tokenizer());
    change(alone.json);
    const std::string error = alone.error();
    CHECK(error.find(alone.path + "/tokenizer.json") != std::string::npos);
    CHECK(error.size() < 700);
    return error;
  };
  const auto says = [](const std::string& error, const std::string& part) {
    CAPTURE(error);
    CHECK(error.find(part) != std::string::npos);
  };
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "model"}) {
    for (const Json& value : {Json(nullptr), Json(1), Json{{"type", "Other"}}})
      says(refused([&](Json& json) { json[key] = value; }), std::string("weft supports only FNet's ") + key);
    says(refused([&](Json& json) { json.erase(key); }), key);
  }
  for (const std::string pipeline : {"words", "pieces", "spaces"}) {
    CAPTURE(pipeline);
    const auto changed = [&](const std::function<void(Json&)>& change) {
      return refused([&](Json& json) {
        pass_through(json, pipeline);
        change(json);
      });
    };
    says(changed([](Json& json) {
           json["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
         }),
         "only FNet's normalizer (");
    says(changed([](Json& json) {
           json["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
         }),
         "only FNet's pre_tokenizer (");
    says(changed([](Json& json) { json["post_processor"]["single"].push_back(1); }), "only FNet's post_processor (");
  }
  says(refused([](Json& json) {
         json["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
       }),
       "only FNet's normalizer (");
  says(refused([](Json& json) { json["normalizer"]["normalizers"][4]["precompiled_charsmap"] = "?"; }), "base64");
  says(refused([](Json& json) { json["pre_tokenizer"]["prepend_scheme"] = "first"; }), "only FNet's pre_tokenizer (");
  says(refused([](Json& json) { json["pre_tokenizer"]["split"] = false; }), "only FNet's pre_tokenizer (");
  says(refused([](Json& json) { json["pre_tokenizer"]["replacement"] = "_"; }), "only FNet's pre_tokenizer (");
  says(refused([](Json& json) { json["post_processor"]["single"].erase(0); }), "post_processor ([CLS] A [SEP] B");
  says(refused([](Json& json) { json["post_processor"]["pair"][3]["Sequence"]["type_id"] = 0; }), "post_processor");
  says(refused([](Json& json) { json["model"]["byte_fallback"] = true; }), "model (a Unigram");
  says(refused([](Json& json) { json["model"]["type"] = "BPE"; }), "model (a Unigram");
  says(refused([](Json& json) { json["model"]["vocab"][9] = "x"; }), "names with scores, got \"x\"");
  says(refused([](Json& json) { json["model"]["vocab"][9] = {1, "x"}; }), "names with scores, got [1,\"x\"]");
  says(refused([](Json& json) { json["model"]["unk_id"] = 100000; }), "an unk_id from 0");
  says(refused([](Json& json) { json["model"]["unk_id"] = -1; }), "got -1");
  says(refused([](Json& json) { json["model"]["vocab"].push_back({"one more", -1.0}); }), "more than the");
  says(refused([](Json& json) { json["added_tokens"][6]["content"] = "<new>"; }), "only added tokens that are pieces");
  says(refused([](Json& json) { json["added_tokens"][6]["id"] = 100000; }), "only added tokens that are pieces");
  says(refused([](Json& json) { json["added_tokens"].push_back(1); }), "only added tokens that are pieces");
  says(refused([](Json& json) { json = Json::array(); }), "not a JSON object");
}

TEST_CASE(
    "Hugging Face FNet: a tokenizer without the piece that rows begin with can't classify, and the error names it") {
  Checkpoint made;
  made.tokenizer = tokenizer({{"cls_token", "[none]"}});
  made.model = make_model({"fnet", Task::classifier, made.tokenizer->size(), 3, R"({"d_model":8,"layers":1})"}, {});
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", made);
  CHECK(Classifier::why_not(load_checkpoint(folder / "out")) ==
        "the tokenizer of the checkpoint has no piece \"[none]\" (cls_token), which begins each row");
  made.tokenizer = tokenizer();
  CHECK(Classifier::why_not(made) == "");
}

TEST_CASE("models of SentencePiece that are truncated or forged are refused") {
  const std::string whole = model();
  const detail::SentencePieceModel read = detail::parse_sentencepiece(whole);
  CHECK(detail::parse_sentencepiece(detail::sentencepiece_bytes(read)).characters == read.characters);
  for (std::size_t size = 1; size < whole.size(); size += size / 7 + 1) {
    CAPTURE(size);
    std::size_t pieces = 0;
    const std::string error =
        error_of([&] { pieces = detail::parse_sentencepiece(whole.substr(0, size)).pieces.size(); });
    CHECK((pieces <= read.pieces.size() && (pieces > 0) == error.empty()));
  }
  for (const std::string& bytes : {std::string(), std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                                   std::string("\x0a\x7f"), std::string(20, '\xff'), std::string("\x0b\x01"),
                                   std::string("\x0a\x02\x10\x01"), std::string("\x12\x00", 2)}) {
    const std::string error = error_of([&] { (void)detail::parse_sentencepiece(bytes); });
    CHECK(error.find("not a SentencePiece model") != std::string::npos);
  }
}

}  // namespace weft::test
