// A tokenizer that is equivalent to transformers' FNetTokenizer. It finds special symbols in the text by their names.
// The text between them goes through one of three pipelines, because versions of transformers write different pipelines
// into tokenizer.json:
// - "albert" (AlbertConverter, which reads spiece.model): the text is simplified (quotation marks, accents, case) and
//   split into words, which SentencePiece splits into pieces. A space after the last word is a separate piece.
// - "words" (the class AlbertTokenizer of transformers 5): the same, but spaces only separate words.
// - "pieces" (transformers 5 with spiece.model, which it converts): SentencePiece splits the unchanged text.
#include "sentencepiece/fnet_tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "sentencepiece/pieces.h"
#include "sentencepiece/plain_text.h"
#include "sentencepiece/special_names.h"

namespace weft::detail {
namespace {

const char* const kind_name = "fnet";

// The fields of tokenizer_config.json. Its remove_space has no effect in the fast tokenizer.
struct FnetSettings {
  bool keep_accents = false, do_lower_case = false;
  std::string unknown = "<unk>", sep = "[SEP]", pad = "<pad>", cls = "[CLS]", mask = "[MASK]";
  std::string pipeline = "albert";
  std::int64_t size = 0;  // number of ids that the model knows; 0 means the number of pieces

  // Calls visit(key, field) for each field.
  template <class Self, class Visit>
  static void visit(Self& self, Visit visit) {
    visit("keep_accents", self.keep_accents);
    visit("do_lower_case", self.do_lower_case);
    visit("unk_token", self.unknown);
    visit("sep_token", self.sep);
    visit("pad_token", self.pad);
    visit("cls_token", self.cls);
    visit("mask_token", self.mask);
    visit("pipeline", self.pipeline);
    visit("size", self.size);
  }
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  std::string replaced;
  std::size_t from = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, from)) {
    replaced.append(text, from, at - from) += by;
    from = at + what.size();
  }
  text = replaced.append(text, from);
}

// How a SentencePiece model treats a character: as itself, as a space that separates words, or as nothing.
enum class Meaning { itself, space, nothing };

class FnetTokenizer : public Tokenizer {
 public:
  FnetTokenizer(std::string model, const FnetSettings& settings) : pieces_(std::move(model)), settings_(settings) {
    if (settings_.size == 0) settings_.size = pieces_.size();
    if (settings_.size < pieces_.size() || settings_.size > INT32_MAX)
      throw Error("[tokenizer] the SentencePiece model has " + std::to_string(pieces_.size()) +
                  " pieces, more than the " + std::to_string(settings_.size) + " symbols that the model knows");
    if (settings_.pipeline != "albert" && settings_.pipeline != "words" && settings_.pipeline != "pieces")
      throw Error("[tokenizer] unknown pipeline \"" + settings_.pipeline + "\", expected albert, words or pieces");
    albert_ = settings_.pipeline == "albert";
    find_special();
    if (albert_) leave_out_numbers_with_comma();
    find_probe();
    for (char c = 0; c < 127; ++c) ascii_[static_cast<std::size_t>(c)] = probe(std::string(1, c));
  }

  const char* kind() const noexcept override { return kind_name; }
  std::int64_t size() const noexcept override { return settings_.size; }
  SpecialIds special() const noexcept override { return special_; }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    check_utf8(text, place);
    std::vector<std::int64_t> ids;
    for (std::size_t from = 0;;) {
      const SpecialNames::Found found = names_.first(text, from);
      const std::string_view part = text.substr(from, found.at - from);
      encode_part(takes_spaces_before(found.id) ? without_spaces_at_end(part) : part, ids);
      if (found.id < 0) return ids;
      ids.push_back(found.id);
      from = found.at + found.length;
    }
  }

  // The text can be split before its last run of spaces if another character precedes the run.
  std::size_t cut(std::string_view text) const override {
    for (std::size_t at = by_words_ ? text.size() : 0; at-- > 1;)
      if (is_space(text[at]) && meaning(text[at - 1]) == Meaning::itself) return at;
    return 0;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    if (id >= pieces_.size() && id < size()) return "[unused " + std::to_string(id) + "]";
    return pieces_.text(id);
  }
  std::string separator(std::int64_t before, std::int64_t id) const override {
    if (id >= pieces_.size()) return " ";
    return special_.has(id) || special_.has(before) ? " " : pieces_.separator(id);
  }

  std::string to_json() const override {
    nlohmann::ordered_json json{{"unit", kind_name}};
    FnetSettings::visit(settings_, [&](const char* key, const auto& value) { json[key] = value; });
    json["model"] = to_base64(pieces_.model());
    return json.dump();
  }

 private:
  const sp::SentencePieceProcessor& processor() const noexcept { return pieces_.processor(); }

  std::optional<std::int64_t> id_of(const std::string& name) const {
    const int id = processor().PieceToId(name);
    const bool is_there = id >= 0 && (!processor().IsUnknown(id) || processor().IdToPiece(id) == name);
    return is_there ? std::optional<std::int64_t>(id) : std::nullopt;
  }

  void find_special() {
    special_.unknown = id_of(settings_.unknown);
    special_.pad = id_of(settings_.pad);
    special_.cls = id_of(settings_.cls);
    special_.mask = id_of(settings_.mask);
    special_.sep = id_of(settings_.sep);
    by_words_ = settings_.pipeline != "pieces" && pieces_.has_dummy_prefix();
    std::vector<std::pair<std::string, std::int64_t>> names;
    const auto add = [&](const std::string& name, std::optional<std::int64_t> id) {
      if (!id || name.empty()) return;
      names.emplace_back(name, *id);
      by_words_ = by_words_ && name.find_first_of(" \t\r\n") == std::string::npos;
    };
    add(settings_.unknown, special_.unknown);
    add(settings_.pad, special_.pad);
    add(settings_.cls, special_.cls);
    add(settings_.mask, special_.mask);
    add(settings_.sep, special_.sep);
    for (int id = 0; id < pieces_.size(); ++id)
      if (processor().IsControl(id) || (processor().IsUnknown(id) && !albert_)) add(pieces_.name(id), id);
    names_ = SpecialNames(std::move(names));
  }

  // Removes pieces that end in a digit and a comma, which the albert pipeline never produces.
  void leave_out_numbers_with_comma() {
    const auto is_number = [](const std::string& piece) {
      return piece.size() > 1 && piece.back() == ',' && piece[piece.size() - 2] >= '0' &&
             piece[piece.size() - 2] <= '9';
    };
    std::vector<absl::string_view> kept;
    for (std::int64_t id = 0; id < pieces_.size(); ++id)
      if (!is_number(pieces_.name(id))) kept.emplace_back(pieces_.name(id));
    if (std::ssize(kept) < pieces_.size()) pieces_.keep_only(kept);
  }

  // Finds a character that is a piece. probe() puts other characters between two of these.
  void find_probe() {
    for (const char c : std::string("aetoins0123456789bcdfghjklmpqruvwxyz"))
      if (probe_.empty() && !processor().IsUnknown(processor().PieceToId(std::string(1, c)))) probe_ = c;
    append_pieces(probe_ + probe_, beside_);
    append_pieces(probe_ + " " + probe_, apart_);
  }

  Meaning probe(std::string_view character) const {
    if (character == " ") return Meaning::space;
    if (probe_.empty()) return Meaning::itself;
    std::vector<std::int64_t> found;
    append_pieces((probe_ + std::string(character)) + probe_, found);
    return found == beside_ ? Meaning::nothing : found == apart_ ? Meaning::space : Meaning::itself;
  }

  Meaning meaning(char c) const {
    return static_cast<unsigned char>(c) < 127 ? ascii_.at(static_cast<std::size_t>(c)) : Meaning::nothing;
  }
  bool is_space(char c) const {
    return static_cast<unsigned char>(c) < 127 && ascii_.at(static_cast<std::size_t>(c)) == Meaning::space;
  }

  bool ends_in_space(std::string_view text) const {
    for (; !text.empty(); text.remove_suffix(last_character(text).size()))
      if (const Meaning last = probe(last_character(text)); last != Meaning::nothing) return last == Meaning::space;
    return false;
  }

  // Whether spaces before this symbol are dropped. transformers does this for [MASK]. weft also does it for [SEP],
  // because a text may contain [SEP] as a separator of two texts.
  bool takes_spaces_before(std::int64_t id) const { return albert_ && (id == special_.mask || id == special_.sep); }

  std::string simplified(std::string_view part) const {
    std::string text(part);
    replace_all(text, "``", "\"");
    replace_all(text, "''", "\"");
    if (!settings_.keep_accents) text = without_accents(text);
    if (settings_.do_lower_case) text = in_lower_case(text);
    if (albert_) return text;
    return with_plain_spaces(text, [&](std::string_view space) { return probe(space) == Meaning::itself; });
  }

  // Encodes a part without special symbols.
  void encode_part(std::string_view part, std::vector<std::int64_t>& ids) const {
    if (settings_.pipeline == "pieces") return append_pieces(part, ids);
    const std::string text = simplified(part);
    if (!by_words_) return append_pieces(text, ids);
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      for (end = at; end < text.size() && !is_space(text[end]);) ++end;
      append_pieces(std::string_view(text).substr(at, end - at), ids);
    }
    if (albert_ && ends_in_space(text)) ids.push_back(processor().PieceToId(space_mark));
  }

  // SentencePiece takes quadratic time for a run of unknown characters, so a word that is too long is encoded in parts.
  void append_pieces(std::string_view text, std::vector<std::int64_t>& ids) const {
    constexpr std::size_t longest = 1 << 16;
    while (!text.empty()) {
      const std::string_view part = whole_characters(text, longest);
      std::vector<int> found;
      check_status(processor().Encode(part, &found), "SentencePiece can't encode the text");
      ids.insert(ids.end(), found.begin(), found.end());
      text.remove_prefix(part.size());
    }
  }

  Pieces pieces_;
  FnetSettings settings_;
  SpecialIds special_;
  SpecialNames names_;
  bool albert_ = true;
  bool by_words_ = false;  // spaces occur only at the beginning of pieces, so each word is encoded separately
  std::string probe_;
  std::vector<std::int64_t> beside_, apart_;  // pieces of two probes without and with a space between them
  std::array<Meaning, 127> ascii_{};
};

std::shared_ptr<const Tokenizer> refuse_to_learn(const Texts&, const TokenizerOptions&) {
  throw Error(
      "[tokenizer] a tokenizer of the kind fnet can't be learned, only read from a model's folder: learn bpe or "
      "unigram");
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  FnetSettings settings;
  FnetSettings::visit(settings, [&](const char* key, auto& value) {
    if (json.contains(key)) read_field("tokenizer", key, json.at(key), value);
  });
  return std::make_shared<FnetTokenizer>(from_base64(json.at("model").get<std::string>()), settings);
}

}  // namespace

TokenizerKind fnet_tokenizer_kind() {
  TokenizerKind kind{kind_name, "Hugging Face's FNet tokenizer, a SentencePiece model with [CLS] and [SEP]",
                     refuse_to_learn, from_json};
  kind.is_learned = false;
  return kind;
}

}  // namespace weft::detail
