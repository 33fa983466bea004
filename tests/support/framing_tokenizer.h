// A tokenizer whose ids are the bytes of a text, with special symbols that the test chooses.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenizer.h"

namespace weft::test {

class Framing : public Tokenizer {
 public:
  explicit Framing(SpecialIds special) : special_(special) {}
  const char* kind() const noexcept override { return "framing"; }
  std::int64_t size() const noexcept override { return 256; }
  SpecialIds special() const noexcept override { return special_; }
  std::vector<std::int64_t> encode(std::string_view text, const TextPlace&) const override {
    return {text.begin(), text.end()};
  }
  std::string decode(std::int64_t id) const override { return std::string(1, static_cast<char>(id)); }
  std::string to_json() const override { return "{}"; }

 private:
  SpecialIds special_;
};

}  // namespace weft::test
