// Labeled rows. The input: a byte for the format, a byte for the options, then the file.
#include "target.h"
#include "weft/labeled_texts.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  weft::LabeledOptions options;
  options.format = static_cast<weft::DataFormat>(data[0] % 6);  // all formats except folders
  if (data[1] & 1) options.header = (data[1] & 2) != 0;
  options.skip_bad_rows = (data[1] & 4) != 0;
  if (data[1] & 8) options.text = {"2"};
  if (data[1] & 16) options.label = "1";
  options.literal_quotes = (data[1] & 32) != 0;
  const std::string content = weft::test::text_of(data + 2, size - 2);
  weft::test::refuses_or_works([&] {
    const weft::LabeledTexts rows = weft::parse_labeled(content, "fuzz", options);
    if (rows.texts.size() != rows.labels.size()) std::abort();
    for (const std::int64_t label : rows.labels)
      if (label < 0 || label >= static_cast<std::int64_t>(rows.names.size())) std::abort();
  });
  return 0;
}
