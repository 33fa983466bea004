// Guesses the next symbols of a text from its own earlier symbols (speculative decoding, Leviathan et al. 2022, arXiv
// 2211.17192, with looked-up symbols in place of a small model's). The logits after all guesses are computed at once,
// which reads the weights only once. The guesses determine only the speed.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "weft/model.h"

namespace weft::detail {

// Finds the last symbols of a text in its earlier part.
class Repetitions {
 public:
  // Adds a symbol to the text. Does not throw after make_room().
  void add(std::int64_t symbol);
  void make_room();
  std::int64_t last() const { return text_.back(); }
  // Returns up to `most` guesses of the next symbols: as many as give the most symbols per time, if later guesses are
  // right as often as earlier ones, and a guess makes a step longer by `cost` times its length without guesses.
  std::vector<std::int64_t> guess(std::int64_t most, double cost) const;

 private:
  // The numbers of symbols at the end of the text that are looked up in the earlier part, and the assumed rates of right
  // guesses before the text has shown its own.
  static constexpr std::array<std::size_t, 5> lengths{2, 3, 5, 8, 12};
  static constexpr std::array<double, 5> usual_rates{0.25, 0.3, 0.45, 0.6, 0.75};
  static constexpr std::size_t places = std::size_t{1} << 15;

  struct Lookup {
    // The index of the symbol that followed a sequence of symbols when it last occurred, at a place that depends on the
    // sequence; 0: none. Sequences with the same place replace each other.
    std::vector<std::size_t> after = std::vector<std::size_t>(places);
    std::size_t next = 0;  // the index of the symbol that earlier followed the text's last symbols; 0: none
  };

  std::size_t longest() const;

  std::vector<std::int64_t> text_;
  std::array<Lookup, lengths.size()> lookups_;
  // How often the symbol that a lookup found was right, if no longer lookup found one. Later ones count more.
  std::array<double, lengths.size()> rates_ = usual_rates;
};

// The guesses at the end of a token stream with one text, with their logits.
class Guesses {
 public:
  explicit Guesses(const Model& model);

  // Adds a symbol that was chosen or is in the prompt. Does not throw after make_room().
  void add(std::int64_t symbol) { repetitions_.add(symbol); }
  void make_room() { repetitions_.make_room(); }
  // Appends the last symbol that was added to the stream's text, unless it was guessed and is there already. Returns the
  // logits (1, vocabulary) for the next symbol. At most `left` symbols, at least 1, will still be chosen.
  Tensor append_last(TokenStream& stream, std::int64_t left);
  // Removes the guesses from the stream's text.
  void take_back(TokenStream& stream);

 private:
  double cost_;  // of a guess, as in Repetitions
  Repetitions repetitions_;
  std::vector<std::int64_t> symbols_;  // the guesses that are neither confirmed nor taken back, the last one first
  Tensor logits_;                      // (n, vocabulary) after the appended symbols; the last rows are for symbols_
};

}  // namespace weft::detail
