// The tokenizer of models that read no tokens.
#include "weft/tokenizer.h"

namespace weft {
namespace {

class NoTokenizer : public Tokenizer {
 public:
  const char* kind() const noexcept override { return "none"; }
  std::int64_t size() const noexcept override { return 0; }
  SpecialIds special() const noexcept override { return {}; }
  std::vector<std::int64_t> encode(std::string_view, const TextPlace& place) const override {
    throw Error((place.name.empty() ? "" : place.name + ": ") + "[tokenizer] the model reads numbers, not texts");
  }
  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    throw Error("[tokenizer] the model reads numbers, not texts: there is no symbol " + std::to_string(id));
  }
  std::string to_json() const override { return "null"; }
};

}  // namespace

std::shared_ptr<const Tokenizer> no_tokenizer() {
  static const auto made = std::make_shared<const NoTokenizer>();
  return made;
}

}  // namespace weft
