/// \file
/// Spans: the named parts of a tagged row, such as the names of people in a sentence.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A named part of a row of tags: the tags with the indices [begin, end).
struct Span {
  std::int64_t begin;  ///< index of its first tag, from 0
  std::int64_t end;    ///< index of its last tag plus 1
  std::string type;    ///< its name
  bool operator==(const Span& other) const {
    return begin == other.begin && end == other.end && type == other.type;
  }  ///< whether both have the same indices and type
};

/// Whether all tags are O, B-NAME or I-NAME.
bool are_spans(const std::vector<std::string>& tags);
/// Returns the spans of a row of such tags, as conlleval finds them (CoNLL-2000). A span begins at a B- tag, or at an
/// I- tag that follows O or a different name. It ends before the next tag that is not an I- tag of its name.
std::vector<Span> spans_of(const std::vector<std::string>& row);

}  // namespace weft
WEFT_PUBLIC_END
