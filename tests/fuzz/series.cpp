// Time series, and the windows of a forecast. The input: a byte for the columns, a byte for the sizes of the windows,
// then the file.
#include "weft/series.h"

#include <cmath>
#include <cstdlib>

#include "target.h"
#include "temporary_folder.h"

namespace {

void check(bool is_right) {
  if (!is_right) std::abort();
}

void forecast(const weft::Series& series, unsigned char sizes) {
  weft::ForecastOptions options;
  options.frames = series.names;
  options.targets = {series.names.front()};
  options.length = 1 + sizes % 4;
  options.horizon = 1 + sizes / 4 % 4;
  options.season = sizes / 16 % 4;
  options.batch = 3;
  const weft::TextSplit split{sizes < 128 ? 80 : 50, sizes < 128 ? 20 : 30};
  const auto data = weft::forecast_data(
      series, options, split, weft::forecast_row_options(series, options, series.rows() * split.training / 100));
  check(data->training(0, weft::Random(1)).frames.size(1) == options.length);
  for (std::int64_t k = 0; k < data->validation_batches(); ++k)
    check(data->validation(k).target.size(1) == options.horizon);
  check(weft::last_frames(series, options.frames, options.length).numel() ==
        options.length * static_cast<std::int64_t>(series.names.size()));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemporaryFolder folder;
  if (size < 2) return 0;
  folder.write("series", weft::test::text_of(data + 2, size - 2));
  std::vector<std::string> columns{"a"};
  if (data[0] & 1) columns.emplace_back("b");
  if (data[0] & 2) columns.emplace_back("c d");
  if (data[0] & 4) columns.emplace_back("a");  // a name that is given twice counts once
  weft::test::refuses_or_works([&] {
    const weft::Series series = weft::read_series(folder / "series", columns);
    check(series.rows() > 0 && series.columns.size() == series.names.size());
    for (const std::vector<float>& column : series.columns) {
      check(static_cast<std::int64_t>(column.size()) == series.rows());
      for (const float number : column) check(std::isfinite(number));
    }
    forecast(series, data[1]);
  });
  return 0;
}
