// The input: a safetensors file. The target loads every tensor in the file.
#include "weft/safetensors.h"

#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::test::refuses_or_works([&] {
    const auto copy = std::make_shared<std::string>(weft::test::text_of(data, size));
    const weft::SafetensorsFile file(weft::Bytes{copy->data(), copy->size(), copy}, "fuzz");
    for (const std::string& name : file.names())
      weft::test::refuses_or_works([&] {
        file.load(name);
        file.load(name, weft::Load::copy);
      });
  });
  return 0;
}
