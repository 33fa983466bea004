// As transformers' FNetTokenizer: special symbols are found in the text by their names; what is between them is simplified
// (spaces, quotation marks, accents) and cut by SentencePiece. Its former, slow form cut a piece that ends in a digit and a
// comma once more; SentencePiece learns no such pieces unless it is told to.
#include "sentencepiece/fnet_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "sentencepiece/pieces.h"
#include "sentencepiece/plain_text.h"

namespace weft::detail {
namespace {

const char* const kind_name = "fnet";

// As tokenizer_config.json has them.
struct FnetSettings {
  bool remove_space = true, keep_accents = false;
  std::string unknown = "<unk>", sep = "[SEP]", pad = "<pad>", cls = "[CLS]", mask = "[MASK]";
  std::int64_t size = 0;  // ids that the model knows, which may be more than there are pieces; 0: as many

  // With each one's key.
  template <class Self, class Visit>
  static void visit(Self& self, Visit visit) {
    visit("remove_space", self.remove_space);
    visit("keep_accents", self.keep_accents);
    visit("unk_token", self.unknown);
    visit("sep_token", self.sep);
    visit("pad_token", self.pad);
    visit("cls_token", self.cls);
    visit("mask_token", self.mask);
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

class FnetTokenizer : public Tokenizer {
 public:
  FnetTokenizer(std::string model, const FnetSettings& settings) : pieces_(std::move(model)), settings_(settings) {
    if (settings_.size == 0) settings_.size = pieces_.size();
    if (settings_.size < pieces_.size() || settings_.size > INT32_MAX)
      throw Error("[tokenizer] the model of SentencePiece has " + std::to_string(pieces_.size()) +
                  " pieces, more than the " + std::to_string(settings_.size) + " symbols that the model knows");
    special_.unknown = id_of(settings_.unknown);
    special_.pad = id_of(settings_.pad);
    special_.cls = id_of(settings_.cls);
    special_.mask = id_of(settings_.mask);
    special_.sep = id_of(settings_.sep);
    const auto add = [&](const std::string& name, std::optional<std::int64_t> id) {
      if (id && !name.empty()) names_.emplace_back(name, *id);
    };
    add(settings_.unknown, special_.unknown);
    add(settings_.pad, special_.pad);
    add(settings_.cls, special_.cls);
    add(settings_.mask, special_.mask);
    add(settings_.sep, special_.sep);
    by_words_ = settings_.remove_space && pieces_.has_dummy_prefix();
    for (std::int64_t id = 0; id < pieces_.size() && by_words_; ++id)
      by_words_ = pieces_.name(id).find(space_mark, 1) == std::string::npos;
  }

  const char* kind() const noexcept override { return kind_name; }
  std::int64_t size() const noexcept override { return settings_.size; }
  SpecialIds special() const noexcept override { return special_; }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    check_utf8(text, place);
    std::vector<std::int64_t> ids;
    std::vector<std::size_t> next(names_.size(), 0);  // where each name is found next
    for (std::size_t i = 0; i < names_.size(); ++i) next[i] = text.find(names_[i].first);
    for (std::size_t from = 0;;) {
      std::size_t first = text.size(), length = 0;
      std::int64_t id = 0;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const auto& [name, of_name] = names_[i];
        if (next[i] < from) next[i] = text.find(name, from);
        if (next[i] < first || (next[i] == first && name.size() > length && first < text.size())) {
          first = next[i];
          length = name.size();
          id = of_name;
        }
      }
      encode_part(text.substr(from, first - from), ids);
      if (first == text.size()) return ids;
      ids.push_back(id);
      from = first + length;
    }
  }

  // Up to the last space.
  std::size_t cut(std::string_view text) const override {
    const std::size_t last = by_words_ ? text.find_last_of(" \n") : std::string_view::npos;
    return last == std::string_view::npos ? 0 : last + 1;
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

  // Without special symbols.
  void encode_part(std::string_view part, std::vector<std::int64_t>& ids) const {
    std::string text = settings_.remove_space ? with_single_spaces(part) : std::string(part);
    replace_all(text, "``", "\"");
    replace_all(text, "''", "\"");
    if (!settings_.keep_accents) text = without_accents(text);
    if (!by_words_) return append_pieces(text, ids);
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
      end = std::min(text.find(' ', at), text.size());
      append_pieces(std::string_view(text).substr(at, end - at), ids);
    }
  }

  void append_pieces(std::string_view text, std::vector<std::int64_t>& ids) const {
    std::vector<int> found;
    check_status(processor().Encode(text, &found), "it can't encode");
    ids.insert(ids.end(), found.begin(), found.end());
  }

  Pieces pieces_;
  FnetSettings settings_;
  SpecialIds special_;
  std::vector<std::pair<std::string, std::int64_t>> names_;  // of special symbols, in texts
  bool by_words_ = false;  // spaces are nothing but the beginnings of pieces: each word is cut by itself
};

std::shared_ptr<const Tokenizer> refuse_to_learn(const Texts&, const TokenizerOptions&) {
  throw Error("[tokenizer] fnet is for models that are there already: learn bpe or unigram");
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
  TokenizerKind kind{kind_name, "Hugging Face's of FNet, a model of SentencePiece with [CLS] and [SEP]",
                     refuse_to_learn, from_json};
  kind.is_learned = false;
  return kind;
}

}  // namespace weft::detail
