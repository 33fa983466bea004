#include "formats/huggingface_tokenizer.h"

#include <algorithm>

#include "base/base64.h"
#include "formats/json_file.h"
#include "formats/sentencepiece_model.h"
#include "weft/detail/utf8_path.h"
#include "weft/tokenizer.h"

namespace weft::detail::huggingface {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Piece = SentencePieceModel::Piece;

// The maximum size of a tokenizer's file. FNet's tokenizers have 32,000 pieces in 0.8 MB, or 2 MB as JSON. The largest
// tokenizers of other models have 256,000 pieces in 4.5 MB.
constexpr std::uint64_t most_of_tokenizer = std::uint64_t{8} << 20;

const char* const space_mark = "\u2581";
const char* const tokens[] = {"unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// The steps that a text goes through (see sentencepiece/fnet_tokenizer.cpp).
struct Steps {
  std::string pipeline;
  // Only for the pipeline "pieces". If true, spaces are not changed (transformers 5.23). If false, SentencePiece's
  // rules for spaces are explicit steps (5.24).
  bool spaces = false;
  bool keep_accents = true, lower_case = false;
  std::string characters;

  bool has_frame() const { return pipeline != "pieces"; }
};

// The normalizer that transformers makes, depending on the pipeline: AlbertConverter or SpmConverter in
// convert_slow_tokenizer.py, or AlbertTokenizer.
ordered_json normalizer_of(const Steps& o) {
  const auto replace = [](const char* kind, const char* what, const char* by) {
    return ordered_json{{"type", "Replace"}, {"pattern", {{kind, what}}}, {"content", by}};
  };
  const ordered_json one_space = replace("Regex", " {2,}", " ");
  ordered_json steps = ordered_json::array();
  if (o.has_frame()) steps = {replace("String", "``", "\""), replace("String", "''", "\"")};
  if (!o.keep_accents) steps.push_back({{"type", "NFKD"}});
  if (!o.keep_accents) steps.push_back({{"type", "StripAccents"}});
  if (o.lower_case) steps.push_back({{"type", "Lowercase"}});
  if (!o.characters.empty()) steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", o.characters}});
  if (o.pipeline == "albert") steps.push_back(one_space);
  if (o.pipeline == "pieces") {
    if (!o.spaces) steps.push_back(replace("Regex", "\\A +| +\\z", ""));
    if (!o.spaces) steps.push_back(one_space);
    steps.push_back(replace("String", " ", space_mark));
    if (!o.spaces) steps.push_back(replace("Regex", "\\A\u2581", "\u2581\u2581"));
  }
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

ordered_json metaspace(bool split) {
  return {{"type", "Metaspace"}, {"replacement", space_mark}, {"prepend_scheme", "always"}, {"split", split}};
}

ordered_json pre_tokenizer_of(const Steps& o) {
  if (o.pipeline == "albert") return metaspace(true);
  ordered_json steps = ordered_json::array();
  if (o.pipeline == "words") steps = {{{"type", "WhitespaceSplit"}}, metaspace(true)};
  else if (o.spaces) return nullptr;
  else steps.push_back(metaspace(false));
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

ordered_json decoder_of(const Steps& o) {
  if (o.has_frame()) return metaspace(true);
  ordered_json steps = {{{"type", "Replace"}, {"pattern", {{"String", space_mark}}}, {"content", " "}}};
  if (!o.spaces) steps.push_back({{"type", "Fuse"}});
  if (!o.spaces) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

// The template for one text is [CLS] A [SEP]. The template for a pair is [CLS] A [SEP] B [SEP], where the last two have
// type 1. Without a frame, the templates are A, and A B.
ordered_json frame_of(const Steps& o, const std::string& cls, const std::string& sep, bool pair) {
  ordered_json frame = ordered_json::array();
  const auto add = [&](const char* kind, const std::string& id, int type) {
    frame.push_back({{kind, {{"id", id}, {"type_id", type}}}});
  };
  if (o.has_frame()) add("SpecialToken", cls, 0);
  add("Sequence", "A", 0);
  if (o.has_frame()) add("SpecialToken", sep, 0);
  if (pair) add("Sequence", "B", 1);
  if (pair && o.has_frame()) add("SpecialToken", sep, 1);
  return frame;
}

bool is_metaspace(const json& step) {
  if (!step.is_object() || step.value("type", "") != "Metaspace" || step.value("replacement", "") != space_mark)
    return false;
  const bool always =
      step.contains("prepend_scheme") ? step.at("prepend_scheme") == "always" : step.value("add_prefix_space", true);
  return always && step.value("split", true);
}

// AlbertConverter subtracts 100 from the scores of pieces that end with a digit and a comma, so that no text contains
// them.
constexpr float left_out = 100;
bool is_number_with_comma(const std::string& name) {
  return name.size() > 1 && name.back() == ',' && name[name.size() - 2] >= '0' && name[name.size() - 2] <= '9';
}

// Reads tokenizer.json as a SentencePiece model and settings.
class Reader {
 public:
  Reader(const std::string& path, ordered_json& settings, std::vector<std::string>& notes)
      : path_(path), all_(read_json_object(path, most_of_tokenizer)), to_(settings), notes_(notes) {}

  SentencePieceModel read() {
    read_normalizer();
    read_pre_tokenizer();
    const std::string cls = to_.value("cls_token", "[CLS]"), sep = to_.value("sep_token", "[SEP]");
    const json& frame = part("post_processor");
    if (!frame.is_object() || frame.value("single", json()) != json(frame_of(steps_, cls, sep, false)) ||
        frame.value("pair", json()) != json(frame_of(steps_, cls, sep, true)))
      refuse("post_processor", steps_.has_frame() ? cls + " A " + sep + " B " + sep : "A B");
    if (!steps_.has_frame())
      notes_.push_back("tokenizer.json adds no special symbols to rows; weft adds " + cls + " and " + sep +
                       ", as in FNet's training");
    read_pieces();
    read_added();
    return made_;
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const {
    std::string got = part(key).dump(-1, ' ', false, json::error_handler_t::replace);
    if (got.size() > 200) got = got.substr(0, 200) + "...";
    throw Error("\"" + path_ + "\": weft supports only FNet's " + key + " (" + expected + "), got " + got);
  }

  const json& part(const std::string& key) const {
    static const json none;
    return all_.contains(key) ? all_.at(key) : none;
  }

  void read_normalizer() {
    const json& given = part("normalizer");
    bool accents = true, lower = false;
    std::string characters;
    if (given.is_object() && given.value("normalizers", json()).is_array())
      for (const json& step : given.at("normalizers")) {
        const std::string type = step.is_object() ? step.value("type", "") : "";
        accents = accents && type != "NFKD";
        lower = lower || type == "Lowercase";
        if (type == "Precompiled") read_key(path_, step, "precompiled_charsmap", characters);
      }
    for (const Steps& steps :
         {Steps{"albert", false, accents, lower, characters}, Steps{"words", false, accents, lower, characters},
          Steps{"pieces", false, true, false, characters}, Steps{"pieces", true, true, false, characters}})
      if (given == json(normalizer_of(steps))) steps_ = steps;
    if (steps_.pipeline.empty())
      refuse("normalizer", "for quotation marks, accents, case and SentencePiece's characters");
    made_.characters = from_base64(characters);
    made_.spaces = steps_.spaces;
    to_["keep_accents"] = accents;
    to_["do_lower_case"] = lower;
    to_["pipeline"] = steps_.pipeline;
  }

  // If fields are missing, as in files of older versions, is_metaspace() uses their defaults.
  void read_pre_tokenizer() const {
    const json& given = part("pre_tokenizer");
    if (steps_.pipeline == "albert" ? !is_metaspace(given) : given != json(pre_tokenizer_of(steps_)))
      refuse("pre_tokenizer",
             steps_.has_frame() ? "a Metaspace before each word" : "the pre-tokenizer that belongs to the normalizer");
  }

  void read_pieces() {
    const json& model = part("model");
    if (!model.is_object() || model.value("type", "") != "Unigram" || model.value("byte_fallback", false) ||
        !model.value("vocab", json()).is_array())
      refuse("model", "a Unigram without byte_fallback");
    for (const json& piece : model.at("vocab")) {
      if (!piece.is_array() || piece.size() != 2 || !piece.at(0).is_string() || !piece.at(1).is_number())
        throw Error("\"" + path_ + "\": expected \"vocab\" to be a list of names with scores, got " + piece.dump());
      made_.pieces.push_back({piece.at(0).get<std::string>(), piece.at(1).get<float>()});
      Piece& made = made_.pieces.back();
      if (steps_.pipeline == "albert" && is_number_with_comma(made.name) && made.score <= -left_out)
        made.score += left_out;
    }
    read_key(path_, model, "unk_id", made_.unknown_id);
    if (made_.unknown_id < 0 || made_.unknown_id >= std::ssize(made_.pieces))
      throw Error("\"" + path_ + "\": expected an unk_id from 0 to " + std::to_string(std::ssize(made_.pieces) - 1) +
                  ", got " + std::to_string(made_.unknown_id));
    made_.pieces[static_cast<std::size_t>(made_.unknown_id)].kind = SentencePieceModel::unknown;
  }

  // Reads the pieces whose names are found literally in texts.
  void read_added() {
    const json& added = part("added_tokens");
    if (added.is_null()) return;
    if (!added.is_array()) refuse("added_tokens", "a list");
    for (const json& token : added) {
      std::int64_t id = -1;
      std::string name;
      if (token.is_object()) read_key(path_, token, "id", id);
      if (token.is_object()) read_key(path_, token, "content", name);
      if (id < 0 || id >= std::ssize(made_.pieces) || made_.pieces[static_cast<std::size_t>(id)].name != name)
        throw Error("\"" + path_ + "\": weft supports only added tokens that are pieces of the model, got " +
                    token.dump());
      if (id != made_.unknown_id) made_.pieces[static_cast<std::size_t>(id)].kind = SentencePieceModel::control;
    }
  }

  std::string path_;
  json all_;
  ordered_json& to_;
  std::vector<std::string>& notes_;
  Steps steps_;
  SentencePieceModel made_;
};

// Reads a token's name: a string, or an object with a "content".
void read_token(const std::string& path, const json& from, const char* key, ordered_json& to) {
  if (!from.contains(key)) return;
  std::string name;
  if (from.at(key).is_object()) read_key(path, from.at(key), "content", name);
  else read_key(path, from, key, name);
  if (!name.empty()) to[key] = name;
}

void read_settings(const std::string& path, ordered_json& to) {
  const json settings = read_json_object(path);
  for (const char* key : {"keep_accents", "do_lower_case"}) {
    bool value = false;
    read_key(path, settings, key, value);
    if (settings.contains(key)) to[key] = value;
  }
  for (const char* key : tokens) read_token(path, settings, key, to);
}

ordered_json tokenizer_json(const SentencePieceModel& model, const SpecialIds& special, const ordered_json& settings) {
  const Steps steps{settings.at("pipeline"), model.spaces, settings.at("keep_accents"), settings.at("do_lower_case"),
                    to_base64(model.characters)};
  const bool albert = steps.pipeline == "albert";
  ordered_json vocab = ordered_json::array(), added = ordered_json::array();
  for (std::int64_t id = 0; id < std::ssize(model.pieces); ++id) {
    const Piece& piece = model.pieces[static_cast<std::size_t>(id)];
    vocab.push_back({piece.name, albert && is_number_with_comma(piece.name) ? piece.score - left_out : piece.score});
    if (piece.kind != SentencePieceModel::control && piece.kind != SentencePieceModel::user_defined && !special.has(id))
      continue;
    added.push_back({{"id", id},
                     {"content", piece.name},
                     {"single_word", false},
                     {"lstrip", albert && id == special.mask},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", piece.kind != SentencePieceModel::user_defined}});
  }
  const std::string cls = settings.at("cls_token"), sep = settings.at("sep_token");
  const auto token = [](const std::string& name, std::int64_t id) {
    return ordered_json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  ordered_json names = ordered_json::object();
  if (steps.has_frame()) names = {{cls, token(cls, *special.cls)}, {sep, token(sep, *special.sep)}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", normalizer_of(steps)},
          {"pre_tokenizer", pre_tokenizer_of(steps)},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", frame_of(steps, cls, sep, false)},
            {"pair", frame_of(steps, cls, sep, true)},
            {"special_tokens", names}}},
          {"decoder", decoder_of(steps)},
          {"model", {{"type", "Unigram"}, {"unk_id", model.unknown_id}, {"vocab", vocab}, {"byte_fallback", false}}}};
}

std::string read_pieces(const std::string& path) {
  const os::MappedFile file = map_small_file(path, most_of_tokenizer);
  return {reinterpret_cast<const char*>(file.data), static_cast<std::size_t>(file.size)};
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path_of(path), ignored);
}

}  // namespace

std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& folder, std::int64_t vocabulary,
                                                std::vector<std::string>& notes) {
  std::string path = folder + "/" + pieces_name;
  const bool has_pieces = is_there(path);
  if (!has_pieces) path = folder + "/" + tokenizer_name;
  if (!is_there(path)) return nullptr;
  ordered_json made{{"unit", "fnet"}, {"size", vocabulary}};
  const std::string config = folder + "/" + tokenizer_config_name;
  if (is_there(config)) read_settings(config, made);
  try {
    made["model"] = to_base64(has_pieces ? read_pieces(path) : sentencepiece_bytes(Reader(path, made, notes).read()));
    return tokenizer_from_json(made.dump());
  } catch (const json::exception& error) {
    throw Error("\"" + path + "\" is damaged: " + error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.find(path) == std::string::npos ? "\"" + path + "\": " + message : message);
  }
}

void write_tokenizer(FileSet& files, const Tokenizer& tokenizer, std::int64_t length, std::vector<std::string>& notes) {
  ordered_json settings = ordered_json::parse(tokenizer.to_json());
  if (settings.at("unit") != "fnet") {
    notes.push_back(std::string("this format can't store the tokenizer (") + tokenizer.kind() +
                    "): pass token ids to the model");
    return;
  }
  const std::string bytes = from_base64(settings.at("model").get<std::string>());
  const SpecialIds special = tokenizer.special();
  const SentencePieceModel model = parse_sentencepiece(bytes);
  // spiece.model is written only for the pipeline albert. For other pipelines, tokenizer.json contains steps that
  // spiece.model doesn't. If both existed, programs would read spiece.model.
  if (settings.at("pipeline") == "albert") files.write(pieces_name, bytes);
  if (model.type == SentencePieceModel::unigram && special.cls && special.sep)
    files.write(tokenizer_name, tokenizer_json(model, special, settings).dump() + "\n");
  else
    notes.push_back(
        "tokenizer.json, which transformers 5 reads, was not written: the tokenizer is not a unigram model with the "
        "pieces " +
        settings.at("cls_token").get<std::string>() + " and " + settings.at("sep_token").get<std::string>());
  for (const char* ours : {"unit", "model", "size", "pipeline"}) settings.erase(ours);
  settings["model_max_length"] = length;
  settings["tokenizer_class"] = "FNetTokenizer";
  files.write(tokenizer_config_name, settings.dump(2) + "\n");
}

}  // namespace weft::detail::huggingface
