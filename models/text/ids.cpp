// Texts consist of ids as decimal numbers, for example "17 4 0". This is for models that came without a tokenizer.
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/kinds.h"

namespace weft::detail {
namespace {

const char* const name = "ids";

class Ids : public Tokenizer {
 public:
  Ids(std::int64_t size, std::optional<std::int64_t> pad) : size_(size), pad_(pad) {
    if (size < 1 || size > INT32_MAX || (pad && (*pad < 0 || *pad >= size)))
      throw Error("[tokenizer] expected 1 to 2147483647 ids, of which one may be padding, got " + std::to_string(size));
  }

  const char* kind() const noexcept override { return name; }
  std::int64_t size() const noexcept override { return size_; }
  SpecialIds special() const noexcept override {
    SpecialIds ids;
    ids.pad = pad_;
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    std::vector<std::int64_t> ids;
    while (skip_spaces(text)) {
      const std::string_view word = text.substr(0, text.find_first_of(spaces));
      std::int64_t id = -1;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= size_)
        throw Error((place.name.empty() ? "" : place.name + ": ") + "[tokenizer] \"" + std::string(word.substr(0, 40)) +
                    "\" is not an id from 0 to " + std::to_string(size_ - 1) +
                    ": the model came without its tokenizer and takes ids, separated by spaces");
      ids.push_back(id);
      text.remove_prefix(word.size());
    }
    return ids;
  }

  // The text can be split after the last space.
  std::size_t cut(std::string_view text) const override {
    const std::size_t last = text.find_last_of(spaces);
    return last == std::string_view::npos ? 0 : last + 1;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    if (id < 0 || id >= size_)
      throw Error("[tokenizer] expected a symbol below " + std::to_string(size_) + ", got " + std::to_string(id));
    return std::to_string(id);
  }
  std::string separator(std::int64_t, std::int64_t) const override { return " "; }

  std::string to_json() const override {
    nlohmann::ordered_json json{{"unit", name}, {"size", size_}};
    if (pad_) json["pad"] = *pad_;
    return json.dump();
  }

 private:
  static constexpr const char* spaces = " \t\r\n";

  // Skips spaces. Returns false at the end of the text.
  static bool skip_spaces(std::string_view& text) {
    const std::size_t first = text.find_first_not_of(spaces);
    text.remove_prefix(std::min(first, text.size()));
    return !text.empty();
  }

  std::int64_t size_;
  std::optional<std::int64_t> pad_;
};

std::shared_ptr<const Tokenizer> refuse_to_learn(const Texts&, const TokenizerOptions&) {
  throw Error("[tokenizer] \"ids\" is only for models that came without a tokenizer: learn one of the other kinds");
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  std::int64_t size = 0, pad = 0;
  read_field("tokenizer", "size", json.at("size"), size);
  if (!json.contains("pad")) return std::make_shared<Ids>(size, std::nullopt);
  read_field("tokenizer", "pad", json.at("pad"), pad);
  return std::make_shared<Ids>(size, pad);
}

}  // namespace

TokenizerKind ids_kind() {
  TokenizerKind kind{name, "decimal ids, separated by spaces", refuse_to_learn, from_json};
  kind.is_learned = false;
  return kind;
}

}  // namespace weft::detail
