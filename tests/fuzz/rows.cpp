// Labeled rows. The input: a byte for the format, a byte for the options, then the file.
#include "rows/idx.h"
#include "rows/npy.h"
#include "target.h"
#include "weft/labeled_texts.h"

namespace {

// Arrays have their labels in another file, so only their rows are read. weft reads an array only if the first bytes
// are those of its format.
weft::LabeledTexts rows_of_file(const std::string& content, const weft::LabeledOptions& options) {
  if (options.format == weft::DataFormat::npy && weft::detail::is_npy(content))
    return weft::detail::npy_rows(content, "fuzz");
  if (options.format == weft::DataFormat::idx && weft::detail::is_idx_of_pictures(content))
    return weft::detail::idx_pictures(content, "fuzz");
  return weft::parse_labeled(content, "fuzz", options);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  weft::LabeledOptions options;
  const std::vector<std::string> formats = weft::data_formats();
  options.format = weft::data_format_from_name(formats[data[0] % formats.size()]);
  if (data[1] & 1) options.header = (data[1] & 2) != 0;
  options.skip_bad_rows = (data[1] & 4) != 0;
  if (data[1] & 8) options.text = {"2"};
  if (data[1] & 16) options.label = "1";
  options.literal_quotes = (data[1] & 32) != 0;
  const std::string content = weft::test::text_of(data + 2, size - 2);
  weft::test::refuses_or_works([&] {
    const weft::LabeledTexts rows = rows_of_file(content, options);
    if (rows.content() == weft::RowContent::texts && rows.texts.size() != rows.labels.size()) std::abort();
    for (const std::int64_t label : rows.labels)
      if (label < 0 || label >= static_cast<std::int64_t>(rows.names.size())) std::abort();
  });
  return 0;
}
