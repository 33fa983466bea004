// POST /tokenize and /detokenize.
#include <weft/error.h>

#include "serve/texts.h"
#include "serve/utf8_pieces.h"

namespace serve {

Reply tokenize(Call& call) {
  const auto model = model_of(call);
  const std::optional<std::string> text = call.body.text("text");
  call.body.check_all_read();
  if (!text) throw wrong("text", "expected a text, got nothing");
  check_text(*text, "text", call.settings);
  const weft::Tokenizer& tokenizer = *model->checkpoint().tokenizer;
  const std::vector<std::int64_t> ids = tokenizer.encode(*text);
  std::vector<std::string> symbols;
  for (const std::int64_t id : ids) symbols.push_back(valid_utf8(tokenizer.decode(id)));
  return {{{"model", model->name()}, {"tokens", ids}, {"symbols", symbols}, {"count", ids.size()}}};
}

Reply detokenize(Call& call) {
  const auto model = model_of(call);
  const Json tokens = call.body.value("tokens");
  call.body.check_all_read();
  const weft::Tokenizer& tokenizer = *model->checkpoint().tokenizer;
  const std::vector<std::int64_t> ids = given_symbols(tokens, "tokens", tokenizer);
  return {{{"model", model->name()}, {"text", valid_utf8(tokenizer.decode(ids))}}};
}

}  // namespace serve
