// A SentencePiece model and the texts of its pieces.
#pragma once
#include <sentencepiece_processor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sentencepiece/model_check.h"
#include "weft/error.h"

namespace weft::detail {

namespace sp = ::sentencepiece;

inline const std::string space_mark = "\u2581";  // SentencePiece's mark for a space

inline void check_status(const sp::util::Status& status, const std::string& what) {
  if (!status.ok()) throw Error("[tokenizer] " + what + ": " + status.ToString());
}

class Pieces {
 public:
  // Reads the bytes of a model file. Throws an Error unless they are a model.
  explicit Pieces(std::string model) : model_(std::move(model)) {
    check_model(model_);
    check_status(processor_.LoadFromSerializedProto(model_), "the data are not a SentencePiece model");
    std::vector<std::string> pieces;
    check_status(processor_.Encode("a", &pieces), "SentencePiece can't encode the text");
    dummy_prefix_ = !pieces.empty() && pieces[0].rfind(space_mark, 0) == 0;
  }

  const sp::SentencePieceProcessor& processor() const noexcept { return processor_; }
  const std::string& model() const noexcept { return model_; }  // the bytes of the model file
  std::int64_t size() const noexcept { return processor_.GetPieceSize(); }

  const std::string& name(std::int64_t id) const {
    if (id < 0 || id >= size())
      throw Error("[tokenizer] expected a symbol below " + std::to_string(size()) + ", got " + std::to_string(id));
    return processor_.IdToPiece(static_cast<int>(id));
  }

  // After this call only these pieces are found in texts. Ids don't change.
  void keep_only(const std::vector<absl::string_view>& names) {
    check_status(processor_.SetVocabulary(names), "SentencePiece can't skip pieces");
  }

  // Whether SentencePiece puts an additional space before a text.
  bool has_dummy_prefix() const noexcept { return dummy_prefix_; }

  // The piece's text, without the space that separator() returns.
  std::string text(std::int64_t id) const {
    const std::string& piece = name(id);
    if (processor_.IsByte(static_cast<int>(id)))
      return std::string(1, static_cast<char>(std::stoi(piece.substr(1, 4), nullptr, 16)));
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
      const bool is_space = piece.compare(at, space_mark.size(), space_mark) == 0;
      if (!is_space) text += piece[at];
      else if (at > 0 || !dummy_prefix_) text += ' ';
      at += is_space ? space_mark.size() : 1;
    }
    return text;
  }

  // The text before the piece: a space if the model puts a space before each line and the piece begins with the mark,
  // otherwise nothing.
  std::string separator(std::int64_t id) const {
    return dummy_prefix_ && name(id).rfind(space_mark, 0) == 0 ? " " : "";
  }

 private:
  std::string model_;
  sp::SentencePieceProcessor processor_;
  bool dummy_prefix_ = false;
};

}  // namespace weft::detail
