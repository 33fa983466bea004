// Each byte is a symbol, so any file can be read and nothing is unknown. The id of a byte is its value, or its value +
// 3 if the tokenizer has [pad], [unk] and [cls]. If there is a [mask], it has the last id.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/kinds.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

const char* const name = "bytes";
constexpr std::int64_t byte_values = 256;

class Bytes : public Tokenizer {
 public:
  Bytes(bool for_classifier, bool with_mask) : for_classifier_(for_classifier), with_mask_(with_mask) {}

  const char* kind() const noexcept override { return name; }
  std::int64_t size() const noexcept override { return first() + byte_values + with_mask_; }
  SpecialIds special() const noexcept override {
    SpecialIds ids;
    if (for_classifier_) ids = {1, 0, 2, {}};
    if (with_mask_) ids.mask = size() - 1;
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace&) const override {
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(first() + static_cast<unsigned char>(c));
    return ids;
  }

  bool takes_any_bytes() const noexcept override { return true; }
  std::size_t cut(std::string_view text) const override { return text.size(); }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    if (id < 0 || id >= size())
      throw Error("[tokenizer] expected a symbol below " + std::to_string(size()) + ", got " + std::to_string(id));
    if (id < first()) return id == 0 ? "[pad]" : id == 1 ? "[unk]" : "[cls]";
    if (id >= first() + byte_values) return "[mask]";
    return std::string(1, static_cast<char>(static_cast<unsigned char>(id - first())));
  }

  std::string to_json() const override {
    return nlohmann::ordered_json{{"unit", name}, {"classifier", for_classifier_}, {"mask", with_mask_}}.dump();
  }

 private:
  std::int64_t first() const noexcept { return for_classifier_ ? 3 : 0; }  // id of byte 0

  bool for_classifier_, with_mask_;
};

std::shared_ptr<const Tokenizer> learn(const Texts&, const TokenizerOptions& options) {
  return std::make_shared<Bytes>(options.task.value_or(Task::classifier) == Task::classifier,
                                 options.task.value_or(Task::masked_lm) == Task::masked_lm);
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  return std::make_shared<Bytes>(json.at("classifier").get<bool>(), json.at("mask").get<bool>());
}

}  // namespace

TokenizerKind bytes_kind() { return {name, "each byte is a symbol; any file can be read", learn, from_json, 0, false}; }

}  // namespace weft::detail
