// Checks the parts of a SentencePiece model file that SentencePiece itself does not check.
//
// Normalizer::EncodePrecompiledCharsMap in SentencePiece's normalizer.cc writes precompiled_charsmap. It consists of
// the size of a trie in bytes (u32), the trie, and normalized strings, each terminated by a zero. The trie is a double
// array of darts-clone (class DoubleArrayUnit in https://github.com/s-yata/darts-clone/blob/master/include/darts.h),
// which consists of u32 units in blocks of 256. A unit at `place` contains the label that leads to it, and a base =
// place ^ offset. Its child for byte c is at base ^ c, if the label there is c. If the unit has a leaf, the leaf is the
// unit at its base, and contains the offset of the key's string. SentencePiece looks up the bytes of a text without
// checking the size of the array.
#include "sentencepiece/model_check.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/sentencepiece_format.h"
#include "weft/detail/byte_order.h"
#include "weft/error.h"
#include "weft/tokenizer.h"

namespace weft::detail {
namespace {

constexpr std::uint32_t block = 256;
// The maximum number of keys that are prefixes of one text. This is Normalizer::kMaxTrieResultsSize, the size of an
// array on SentencePiece's stack.
constexpr int most_keys = 32;

[[noreturn]] void fail(const std::string& expected, const std::string& got) {
  throw Error("[tokenizer] precompiled_charsmap of the SentencePiece model is damaged: expected " + expected +
              ", got " + got);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  return number_from<std::uint32_t>(bytes.data() + at);
}

class Trie {
 public:
  explicit Trie(std::string_view bytes) : bytes_(bytes), size_(static_cast<std::uint32_t>(bytes.size() / 4)) {}

  // Visits every unit that a text can reach. A unit is visited again only if the path to it has more keys than all
  // earlier paths. Loops without a key therefore end.
  void check(std::string_view strings) const {
    const Children children(*this);
    std::vector<int> found(size_, -1);  // the maximum number of keys on a path to units with this base
    std::vector<std::uint32_t> open;
    const auto reach = [&](std::uint32_t place, int keys) {
      const std::uint32_t unit = unit_at(place), base = place ^ offset(unit);
      if (base >= size_)
        fail("only paths to units below " + std::to_string(size_), "a path to unit " + std::to_string(base));
      if (has_leaf(unit)) {
        check_value(unit_at(base) & 0x7fffffff, strings);
        ++keys;
      }
      if (keys > most_keys)
        fail("at most " + std::to_string(most_keys) + " keys that are prefixes of one text", "more");
      if (keys <= found[base]) return;
      found[base] = keys;
      open.push_back(base);
    };
    reach(0, 0);
    while (!open.empty()) {
      const std::uint32_t base = open.back();
      open.pop_back();
      for (std::uint32_t child = children.first[base]; child != none; child = children.next[child])
        reach(child, found[base]);
    }
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  // Linked lists of the units that are children of the same base. A base is in the same block as its children.
  struct Children {
    explicit Children(const Trie& trie) : first(trie.size_, none), next(trie.size_, none) {
      for (std::uint32_t place = 0; place < trie.size_; ++place) {
        const std::uint32_t label = trie.unit_at(place) & 0x800000ff;
        if (label >= block) continue;  // a leaf
        next[place] = first[place ^ label];
        first[place ^ label] = place;
      }
    }
    std::vector<std::uint32_t> first, next;
  };

  std::uint32_t unit_at(std::uint32_t place) const { return number_at(bytes_, std::size_t{4} * place); }
  static std::uint32_t offset(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
  static bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) == 1; }

  // The strings must be UTF-8, and the last one must end with a zero.
  static void check_value(std::uint32_t value, std::string_view strings) {
    if (value >= strings.size() || (static_cast<unsigned char>(strings[value]) & 0xc0) == 0x80)
      fail("the first byte of a character in " + std::to_string(strings.size()) + " bytes of strings",
           "byte " + std::to_string(value));
  }

  std::string_view bytes_;
  std::uint32_t size_;
};

// The maximum length of a piece in bytes. When Darts builds its trie, it makes one recursive call for each byte of a
// piece, and for a piece of 1 MB the stack is too small.
constexpr std::size_t longest_piece = 1024;

// The maximum number of pieces that are prefixes of one text. This is the size of an array on the stack of
// PrefixMatcher::PrefixMatch in normalizer.cc.
constexpr std::size_t most_pieces = 64;

// Checks the length of a piece. Returns its name if the piece is user-defined, because such pieces are found in texts
// before normalization. Returns an empty name for other pieces. Only the low 32 bits of a kind's number count. A field
// with an unknown kind is ignored.
std::string_view check_piece(std::string_view bytes) {
  std::string_view name;
  bool user_defined = false;
  for (ProtobufReader piece(bytes); piece.next();) {
    if (piece.field == piece_name) name = piece.text;
    if (piece.field == piece_kind) user_defined = user_defined || static_cast<std::uint32_t>(piece.number) == 4;
  }
  if (name.size() > longest_piece)
    throw Error("[tokenizer] a piece of the SentencePiece model is too long: expected at most " +
                std::to_string(longest_piece) + " bytes, got " + std::to_string(name.size()));
  return user_defined ? name : std::string_view();
}

void check_prefixes(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  std::vector<std::string_view> within;  // each name is a prefix of the next
  for (const std::string_view name : names) {
    while (!within.empty() && name.substr(0, within.back().size()) != within.back()) within.pop_back();
    within.push_back(name);
    if (within.size() > most_pieces)
      throw Error(
          "[tokenizer] user-defined pieces of the SentencePiece model are prefixes of each other: expected at most " +
          std::to_string(most_pieces) + " that are prefixes of one text, got more");
  }
}

void check_normalizer(std::string_view bytes) {
  for (ProtobufReader normalizer(bytes); normalizer.next();)
    if (normalizer.field == normalizer_characters) check_charsmap(normalizer.text);
}

}  // namespace

void check_charsmap(std::string_view bytes) {
  if (bytes.empty()) return;  // characters are not changed
  const std::size_t size = bytes.size() < 4 ? 0 : number_at(bytes, 0);
  if (size == 0 || size % (4 * block) != 0 || size > bytes.size() - 4)
    fail("a trie of blocks of 1024 bytes, and strings",
         "a trie of " + std::to_string(size) + " bytes in " + std::to_string(bytes.size()));
  const std::string_view strings = bytes.substr(4 + size);
  check_utf8(strings, {"[tokenizer] the strings of the model's precompiled_charsmap"});
  if (strings.empty() || strings.back() != '\0') fail("a zero at the end of its strings", "none");
  Trie(bytes.substr(4, size)).check(strings);
}

void check_model(std::string_view bytes) {
  std::vector<std::string_view> user_defined;
  for (ProtobufReader model(bytes); model.next();) {
    if (model.field == model_normalizer || model.field == model_denormalizer) check_normalizer(model.text);
    if (model.field != model_piece) continue;
    if (const std::string_view name = check_piece(model.text); !name.empty()) user_defined.push_back(name);
  }
  check_prefixes(std::move(user_defined));
}

}  // namespace weft::detail
