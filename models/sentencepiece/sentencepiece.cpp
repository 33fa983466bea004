#include "weft/sentencepiece.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/base64.h"
#include "base/json.h"
#include "sentencepiece/fnet_tokenizer.h"
#include "sentencepiece/pieces.h"
#include "weft/error.h"

namespace weft {
using namespace detail;

namespace {

// Returns the length of the next unit, which is encoded separately, or 0 if more text is needed. A unit is a line, or
// the first part of a long line, up to a space. The length depends only on the text after the previous unit, so ids
// don't depend on how much text is read at a time.
std::size_t first_unit(std::string_view text) {
  constexpr std::size_t longest = 1 << 16;
  const std::size_t line = text.substr(0, longest).find('\n');
  if (line != std::string_view::npos) return line + 1;
  if (text.size() < longest) return 0;
  const std::size_t space = text.rfind(' ', longest - 1);
  if (space != std::string_view::npos && space > 0) return space;
  std::size_t end = longest - 1;
  const std::size_t lowest = end - 3;  // cut() also accepts bytes that are not UTF-8
  while (end > lowest && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // a code point's first byte
  return end;
}

class SentencePiece : public Tokenizer {
 public:
  SentencePiece(const char* kind, std::string model) : kind_(kind), pieces_(std::move(model)) {
    for (const char* name : {"<0x0A>", "\n"}) {
      const int id = processor().PieceToId(name);
      if (!processor().IsUnknown(id)) line_end_ = id;
    }
  }

  const char* kind() const noexcept override { return kind_; }
  std::int64_t size() const noexcept override { return pieces_.size(); }

  SpecialIds special() const noexcept override {
    SpecialIds ids;
    const auto control = [&](const char* name) -> std::optional<std::int64_t> {
      const int id = processor().PieceToId(name);
      return processor().IsControl(id) ? std::optional<std::int64_t>(id) : std::nullopt;
    };
    if (processor().unk_id() >= 0) ids.unknown = processor().unk_id();
    if (processor().pad_id() >= 0) ids.pad = processor().pad_id();
    ids.cls = control("[cls]");
    ids.mask = control("[mask]");
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    check_utf8(text, place);
    std::vector<std::int64_t> ids;
    while (!text.empty()) {
      std::size_t unit = first_unit(text);
      if (unit == 0) unit = text.size();
      const bool whole_line = text[unit - 1] == '\n';
      std::vector<int> found;
      check_status(processor().Encode(text.substr(0, unit - whole_line), &found),
                   "SentencePiece can't encode the text");
      ids.insert(ids.end(), found.begin(), found.end());
      if (whole_line && line_end_) ids.push_back(*line_end_);
      text.remove_prefix(unit);
    }
    return ids;
  }

  std::size_t cut(std::string_view text) const override {
    std::size_t at = 0;
    while (const std::size_t unit = first_unit(text.substr(at))) at += unit;
    return at;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override { return pieces_.text(id); }
  std::string separator(std::int64_t, std::int64_t id) const override { return pieces_.separator(id); }

  std::string to_json() const override {
    return nlohmann::ordered_json{{"unit", kind_}, {"model", to_base64(pieces_.model())}}.dump();
  }

 private:
  const sp::SentencePieceProcessor& processor() const noexcept { return pieces_.processor(); }

  const char* kind_;
  Pieces pieces_;
  std::optional<std::int64_t> line_end_;  // the id of a line end, if the model has such a piece
};

// The lines to learn from. If the text is longer than `most` bytes, the sample contains only every second, fourth,
// eighth, … line.
class Sample : public sp::SentenceIterator {
 public:
  explicit Sample(const Texts& texts) {
    texts([&](std::string_view text) {
      check_utf8(text, {});
      while (!text.empty()) {
        std::size_t end = std::min(text.find('\n'), text.size());
        if (end > longest) end = cut_at(text);
        add(text.substr(0, end));
        text.remove_prefix(end < text.size() && text[end] == '\n' ? end + 1 : end);
      }
    });
  }

  bool done() const override { return next_ >= lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sp::util::Status status() const override { return {}; }

 private:
  static constexpr std::size_t longest = 4000;       // SentencePiece skips lines above 4192 bytes
  static constexpr std::size_t most = 32 * 1000000;  // learning takes several times this memory

  static std::size_t cut_at(std::string_view text) {
    const std::size_t space = text.rfind(' ', longest);
    if (space != std::string_view::npos && space > 0) return space;
    std::size_t end = longest;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return end;
  }

  void add(std::string_view line) {
    if (line.empty() || seen_++ % stride_ != 0) return;
    lines_.emplace_back(line);
    bytes_ += line.size();
    if (bytes_ <= most) return;
    stride_ *= 2;
    bytes_ = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < lines_.size(); i += 2) {
      bytes_ += lines_[i].size();
      std::swap(lines_[kept++], lines_[i]);
    }
    lines_.resize(kept);
  }

  std::vector<std::string> lines_;
  std::size_t next_ = 0, bytes_ = 0;
  std::uint64_t seen_ = 0, stride_ = 1;
};

constexpr std::int64_t usual_size = 8000;

// Extracts "315" from SentencePiece's "... is smaller than required_chars. 200 vs 315. Increase ...".
std::string smallest_size(const std::string& reason) {
  const std::size_t found = reason.find(" vs ");
  const std::string rest = found == std::string::npos ? "" : reason.substr(found + 4);
  const std::string digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  return digits.empty() ? "more" : digits;
}

// Learns a tokenizer that restores a text byte by byte. Nothing is normalized, no space is put before the text, and
// characters without a piece are encoded as bytes. The tokenizer has all special symbols, so it suits every task.
std::shared_ptr<const Tokenizer> learn(const char* kind, const Texts& texts, const TokenizerOptions& options) {
  Sample sample(texts);
  if (sample.done()) throw Error(std::string("[tokenizer] there is no text to learn ") + kind + " from");
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", kind},
      {"vocab_size", std::to_string(options.size > 0 ? options.size : usual_size)},
      {"hard_vocab_limit", "false"},  // unigram may learn fewer pieces
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"byte_fallback", "true"},
      {"character_coverage", "0.9995"},
      {"pad_id", "0"},
      {"unk_id", "1"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"control_symbols", "[cls],[mask]"},
      {"num_threads", "1"},  // sums always have the same order, so every machine learns the same model
      {"minloglevel", "2"},
  };
  std::string model;
  const sp::util::Status learned = sp::SentencePieceTrainer::Train(settings, &sample, &model);
  const std::string reason = learned.ToString();
  if (!learned.ok() && reason.find("required_chars") != std::string::npos)
    throw Error(std::string("[tokenizer] can't learn ") + kind + " of " + settings.at("vocab_size") +
                " symbols: the bytes, the special symbols and the text's characters already need " +
                smallest_size(reason) + "; choose a larger size");
  check_status(learned, std::string("can't learn ") + kind);
  return std::make_shared<SentencePiece>(kind, model);
}

std::shared_ptr<const Tokenizer> from_json(const char* kind, const std::string& text) {
  return std::make_shared<SentencePiece>(kind, from_base64(parse_json(text).at("model").get<std::string>()));
}

TokenizerKind learning_kind(const char* kind, const char* meaning) {
  return {kind, meaning,
          [kind](const Texts& texts, const TokenizerOptions& options) { return learn(kind, texts, options); },
          [kind](const std::string& json) { return from_json(kind, json); }, usual_size};
}

const char* const foreign = "sentencepiece";

std::shared_ptr<const Tokenizer> refuse_to_learn(const Texts&, const TokenizerOptions&) {
  throw Error(
      "[tokenizer] a tokenizer of the kind sentencepiece can't be learned, only read from a file: learn bpe or "
      "unigram, or name the file");
}

}  // namespace

void register_sentencepiece() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_tokenizer(learning_kind("unigram", "pieces of words, by their probabilities (SentencePiece)"));
    register_tokenizer(learning_kind("bpe", "pieces of words, by merging frequent pairs (SentencePiece)"));
    TokenizerKind model_file{foreign, "the file of a SentencePiece model", refuse_to_learn,
                             [](const std::string& json) { return from_json(foreign, json); }};
    model_file.is_learned = false;
    register_tokenizer(std::move(model_file));
    register_tokenizer(fnet_tokenizer_kind());
  });
}

std::shared_ptr<const Tokenizer> sentencepiece_tokenizer(const std::string& model) {
  return std::make_shared<SentencePiece>(foreign, model);
}

}  // namespace weft
