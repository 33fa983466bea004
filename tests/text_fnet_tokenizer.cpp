// Hugging Face's tokenizer of FNet; where SentencePiece isn't installed this file isn't built.
#include <doctest/doctest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "sentencepiece/plain_text.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_form.h"
#include "weft/classifier.h"
#include "weft/fill_mask.h"
#include "weft/fnet.h"
#include "weft/sentencepiece.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;

// As google/fnet-base has its first pieces: <unk>, <s>, </s>, <pad>, [CLS], [SEP], [MASK].
const std::string& model() {
  static const std::string made = [] {
    struct Lines : sentencepiece::SentenceIterator {
      bool done() const override { return at == 300; }
      void Next() override {
        ++at;
        line = "the quick brown fox, number " + std::to_string(at % 29) + ", jumps over 7, 9 or 1,000 \"lazy\" dogs";
      }
      const std::string& value() const override { return line; }
      sentencepiece::util::Status status() const override { return {}; }
      int at = 0;
      std::string line = "the quick";
    } lines;
    std::string bytes;
    const auto status = sentencepiece::SentencePieceTrainer::Train({{"vocab_size", "90"},
                                                                    {"hard_vocab_limit", "false"},
                                                                    {"pad_id", "3"},
                                                                    {"control_symbols", "[CLS],[SEP],[MASK]"},
                                                                    {"num_threads", "1"},
                                                                    {"minloglevel", "2"}},
                                                                   &lines, &bytes);
    REQUIRE(status.ok());
    return bytes;
  }();
  return made;
}

std::shared_ptr<const Tokenizer> tokenizer(const Json& settings = Json::object()) {
  register_sentencepiece();
  Json all{{"unit", "fnet"}, {"model", detail::to_base64(model())}};
  all.update(settings);
  return tokenizer_from_json(all.dump());
}

// Of SentencePiece itself.
Ids pieces_of(const std::string& text) {
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(model()).ok());
  std::vector<int> ids;
  REQUIRE(processor.Encode(text, &ids).ok());
  return {ids.begin(), ids.end()};
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("fnet tokenizer: accents, ligatures and other forms of letters, as NFKD without marks") {
  using detail::without_accents;
  for (const auto& [text, plain] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"plain ASCII \t\n~", "plain ASCII \t\n~"},
           {"Zoë naïve ÀÖØöøÿ", "Zoe naive AOØoøy"},
           {"e\u0301\u0323x", "ex"},
           {"ﬁ ﬀ ½ ① ™ …", "fi ff 1\u20442 1 TM ..."},
           {"ＡＢ～ 𝐀𝒛𝟘 ｶﾞ", "AB~ Az0 カ"},
           {"\u00a0\u2003", "  "},
           {"\u00a8", " "},
           {"한글 가", "\u1112\u1161\u11ab\u1100\u1173\u11af \u1100\u1161"},
           {"ǆ Ǆ ẛ̣ ΐ", "dz DZ s ι"},
           {"漢字 豈 \U0002F800", "漢字 豈 丽"},
           {"ไทย ก่ नी क़", "ไทย ก न क"},
           {"\U0001F600 \u2581", "\U0001F600 \u2581"}})
    CHECK(without_accents(text) == plain);
  CHECK(detail::with_single_spaces(" a \t\n b\u00a0c\u3000\u2028d  ") == "a b c d");
  CHECK(detail::with_single_spaces(" \n ").empty());
}

TEST_CASE("fnet tokenizer: special symbols, spaces, quotation marks") {
  const auto t = tokenizer();
  CHECK(t->kind() == std::string("fnet"));
  const SpecialIds special = t->special();
  CHECK(special.unknown == 0);
  CHECK(special.pad == 3);
  CHECK(special.cls == 4);
  CHECK(special.sep == 5);
  CHECK(special.mask == 6);
  CHECK(t->encode("the quick fox") == pieces_of("the quick fox"));
  CHECK(t->encode("  the\tquick \n fox ") == pieces_of("the quick fox"));
  CHECK(t->encode("``lazy'' fóx") == pieces_of("\"lazy\" fox"));
  CHECK(t->encode("").empty());
  CHECK(t->encode("the [MASK] fox[SEP]dogs <pad>") ==
        pieces_of("the") + Ids{6} + pieces_of("fox") + Ids{5} + pieces_of("dogs") + Ids{3});
  CHECK(t->encode("[CLS][SEP]") == Ids{4, 5});
  CHECK_THROWS_AS((void)t->encode("\xFF"), Error);
  CHECK(t->encode("over 7, or 1,000") == pieces_of("over 7, or 1,000"));
}

TEST_CASE("fnet tokenizer: its settings; ids beyond its pieces; what isn't one") {
  CHECK(tokenizer({{"keep_accents", true}})->encode("fóx") == pieces_of("fóx"));
  CHECK(tokenizer({{"keep_accents", true}})->encode("fóx") != pieces_of("fox"));
  CHECK(tokenizer({{"remove_space", false}})->encode("the  fox\n") == pieces_of("the  fox\n"));
  const auto named = tokenizer({{"sep_token", "</s>"}, {"mask_token", "nothing"}});
  CHECK(named->special().sep == 2);
  CHECK_FALSE(named->special().mask);
  const std::int64_t size = tokenizer()->size();
  const auto more = tokenizer({{"size", size + 2}});
  CHECK(more->size() == size + 2);
  CHECK(more->decode(size + 1) == "[unused " + std::to_string(size + 1) + "]");
  CHECK_THROWS_AS((void)more->decode(size + 2), Error);
  CHECK_THROWS_WITH((void)tokenizer({{"size", size - 1}}), doctest::Contains("more than the"));
  CHECK_THROWS_AS((void)tokenizer({{"keep_accents", 1}}), Error);
  CHECK_THROWS_WITH((void)tokenizer({{"model", "AAAA"}}), doctest::Contains("not a model of SentencePiece"));
  CHECK_THROWS_AS((void)learn_tokenizer("fnet", "x"), Error);
  for (const auto& t : {tokenizer(), more, named}) CHECK(tokenizer_from_json(t->to_json())->to_json() == t->to_json());
  const auto t = tokenizer();
  CHECK(t->decode(t->encode("the quick fox jumps over dogs")) == "the quick fox jumps over dogs");
}

TEST_CASE("fnet tokenizer: a text may be cut where it says") {
  const auto t = tokenizer();
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the quick [MASK] brown fóx,  1,000 or 7, ``dogs''\n" + std::to_string(i);
  const Ids whole = t->encode(text);
  for (std::size_t end = 0; end < text.size(); end += 7) {
    const std::size_t cut = t->cut(std::string_view(text).substr(0, end));
    REQUIRE(cut <= end);
    CHECK(t->encode(text.substr(0, cut)) + t->encode(text.substr(cut)) == whole);
  }
  CHECK(t->cut("the quick") == 4);
  CHECK(tokenizer({{"remove_space", false}})->cut("the quick") == 0);
}

TEST_CASE("Hugging Face FNet with its tokenizer: frames, pairs, padding; labels and gaps of texts; written back") {
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
  // Gaps.
  Checkpoint words = made("words", Task::masked_lm, 0);
  for (const std::int64_t pad_to : {0, 24}) {
    words.info.pad_to = pad_to;
    const FilledText filled = fill_mask(words, "the [MASK] dogs", 0);
    REQUIRE(filled.gaps.size() == 1);
    CHECK(fill_mask(words, "the [mask] dogs", 0).text == filled.text);
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
  // A gMLP takes 0 for padding.
  Checkpoint gmlp;
  gmlp.model = make_model({"gmlp", Task::classifier, size, 3, R"({"d_model":8})"}, {});
  gmlp.tokenizer = tokenizer();
  CHECK_THROWS_WITH((void)Classifier(std::move(gmlp)), doctest::Contains("leaves id 0 out as padding"));
  LabelledTexts texts = small_rows();
  const LabelledTexts test = hold_out(texts);
  const ClassifierData data(texts, test, tokenizer(), 24, 4);
  const auto trained = make_model({"gmlp", Task::classifier, size, 3, R"({"d_model":8,"seq_len":24})"}, {});
  CHECK_THROWS_WITH((void)Trainer(*trained, data, small_options(2)), doctest::Contains("leaves id 0 out as padding"));
  CHECK_THROWS_WITH((void)evaluate(*trained, data), doctest::Contains("leaves id 0 out as padding"));
  const auto fnet = make_model(model_spec(config, Task::classifier, size, 3), {});
  CHECK_NOTHROW((void)evaluate(*fnet, data));
}

TEST_CASE("Hugging Face FNet: a tokenizer's settings are read, refused by name, and must fit the model") {
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
  CHECK_THROWS_WITH((void)load_checkpoint(folder / "fnet"),
                    doctest::Contains("tokenizer_config.json\": weft has no do_lower_case"));
  folder.write("fnet/tokenizer_config.json", "[");
  CHECK_THROWS_WITH((void)load_checkpoint(folder / "fnet"), doctest::Contains("tokenizer_config.json"));
  std::filesystem::remove(folder / "fnet/tokenizer_config.json");
  CHECK_NOTHROW((void)load_checkpoint(folder / "fnet"));
  folder.write("fnet/spiece.model", "nothing");
  CHECK_THROWS_WITH((void)load_checkpoint(folder / "fnet"),
                    doctest::Contains("spiece.model\": [tokenizer] not a model"));
}

}  // namespace weft::test
