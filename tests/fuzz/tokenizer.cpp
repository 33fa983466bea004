// The input: a tokenizer as checkpoints store it. The target encodes and decodes some texts with it, then writes it and
// reads it again. The result must be the same tokenizer.
#include "weft/tokenizer.h"

#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::test::refuses_or_works([&] {
    const auto tokenizer = weft::tokenizer_from_json(weft::test::text_of(data, size));
    for (const char* text : {"", "Zo\xc3\xab said: \"ab, c!\"\n", "\xff\xfe"})
      weft::test::refuses_or_works([&] { tokenizer->decode(tokenizer->encode(text)); });
    if (*weft::tokenizer_from_json(tokenizer->to_json()) != *tokenizer) std::abort();
  });
  return 0;
}
