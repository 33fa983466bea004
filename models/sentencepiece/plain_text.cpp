#include "sentencepiece/plain_text.h"

#include <algorithm>
#include <unordered_map>

namespace weft::detail {
namespace {

#include "sentencepiece/decompositions.inc"
#include "sentencepiece/lower_case.inc"

// The number of bytes of a code point in valid UTF-8 that begins with this byte.
std::size_t bytes_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

char32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  char32_t symbol = byte(0) & (0x7fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) symbol = symbol << 6 | (byte(i) & 0x3f);
  return symbol;
}

void append(char32_t symbol, std::string& text) {
  const int more = symbol < 0x80 ? 0 : symbol < 0x800 ? 1 : symbol < 0x10000 ? 2 : 3;
  constexpr unsigned first[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(first[more] | symbol >> 6 * more);
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (symbol >> 6 * i & 0x3f));
}

// Calls use(character, code point) for each character.
template <class Use>
void for_each_character(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, bytes_of(text.front()));
    use(character, code_point(character));
    text.remove_prefix(character.size());
  }
}

std::unordered_map<char32_t, std::string_view> read_others() {
  std::unordered_map<char32_t, std::string_view> all;
  std::string_view rest = others;
  while (!rest.empty()) {
    if (rest.front() == '\n') rest.remove_prefix(1);
    const std::size_t bytes = bytes_of(rest.front()), end = rest.find('\t');
    all.emplace(code_point(rest.substr(0, bytes)), rest.substr(bytes, end - bytes));
    rest.remove_prefix(end + 1);
  }
  return all;
}

// Appends the letters of a Hangul syllable (The Unicode Standard, section 3.12).
void append_hangul(char32_t syllable, std::string& text) {
  const char32_t index = syllable - 0xac00, last = index % 28;
  append(0x1100 + index / (21 * 28), text);
  append(0x1161 + index % (21 * 28) / 28, text);
  if (last > 0) append(0x11a7 + last, text);
}

// Whether the character has Unicode's property White_Space.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

char32_t lower(char32_t c) {
  const auto* run = std::upper_bound(std::begin(lower_runs), std::end(lower_runs), c,
                                     [](char32_t symbol, const auto& each) { return symbol < each.first; });
  if (run == std::begin(lower_runs)) return c;
  --run;
  if (c > run->last || (c - run->first) % run->step != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->add);
}

}  // namespace

std::string without_accents(std::string_view text) {
  static const std::unordered_map<char32_t, std::string_view> singles = read_others();
  std::string plain;
  for_each_character(text, [&](std::string_view character, char32_t symbol) {
    if (symbol < 0x80) return void(plain += character);
    if (symbol >= 0xac00 && symbol <= 0xd7a3) return append_hangul(symbol, plain);
    if (const auto found = singles.find(symbol); found != singles.end()) return void(plain += found->second);
    const auto* run = std::upper_bound(std::begin(runs), std::end(runs), symbol,
                                       [](char32_t c, const auto& each) { return c < each.first; });
    const bool inside = run != std::begin(runs) && symbol - std::prev(run)->first < std::prev(run)->count;
    if (!inside) plain += character;
    else if (std::prev(run)->to != 0) append(std::prev(run)->to + (symbol - std::prev(run)->first), plain);
  });
  return plain;
}

std::string with_plain_spaces(std::string_view text, const std::function<bool(std::string_view)>& is_space) {
  std::string plain;
  for_each_character(text, [&](std::string_view character, char32_t symbol) {
    plain += is_white_space(symbol) && is_space(character) ? " " : character;
  });
  return plain;
}

std::string in_lower_case(std::string_view text) {
  std::string lowered;
  for_each_character(text, [&](std::string_view character, char32_t symbol) {
    if (symbol < 0x80) lowered += static_cast<char>(symbol >= 'A' && symbol <= 'Z' ? symbol + 32 : symbol);
    else if (symbol == 0x130) lowered += "i\u0307";
    else if (const char32_t to = lower(symbol); to != symbol) append(to, lowered);
    else lowered += character;
  });
  return lowered;
}

std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xc0) == 0x80) {
  }
  return text.substr(begin);
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while ((static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

std::string_view without_spaces_at_end(std::string_view text) {
  while (!text.empty() && is_white_space(code_point(last_character(text))))
    text.remove_suffix(last_character(text).size());
  return text;
}

}  // namespace weft::detail
