// Tests of forecasts: tables of numbers, windows, and the comparison with naive forecasts.
#include "weft/series.h"

#include <doctest/doctest.h>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

using Strings = std::vector<std::string>;

// Column a counts 0, 1, 2, …, and b is 10 times as large.
Series counting(std::int64_t rows) {
  Series series;
  series.names = {"a", "b"};
  series.columns.resize(2);
  for (std::int64_t i = 0; i < rows; ++i) {
    series.columns[0].push_back(static_cast<float>(i));
    series.columns[1].push_back(static_cast<float>(10 * i));
  }
  return series;
}

ForecastOptions options_for(std::int64_t length, std::int64_t horizon, const Strings& frames, const Strings& targets) {
  ForecastOptions options;
  options.frames = frames;
  options.targets = targets;
  options.length = length;
  options.horizon = horizon;
  options.batch = 100;
  return options;
}

}  // namespace

TEST_CASE("series: columns of a table by name, with any delimiter") {
  const TemporaryFolder folder;
  for (const char delimiter : {',', '\t', ';'}) {
    std::string table = "time, x ,\"y\"\n0,1.5,-2\n1,+2e1,3\n";
    for (char& c : table)
      if (c == ',') c = delimiter;
    folder.write("table", table);
    const Series series = read_series(folder / "table", {"y", "x", "y"});
    CHECK(series.names == Strings{"y", "x"});
    CHECK(series.columns == std::vector<std::vector<float>>{{-2, 3}, {1.5, 20}});
    CHECK(series.rows() == 2);
  }
  CHECK_THROWS_WITH_AS((void)read_series(folder / "table", {"z"}), doctest::Contains("the columns are time, x, y"),
                       Error);
}

TEST_CASE("series: windows, their targets, and the parts of the split") {
  const Series series = counting(20);
  const ForecastOptions options = options_for(3, 2, {"b", "a"}, {"a", "b"});
  const RowDataOptions rows = forecast_row_options(series, options, 16);
  CHECK(rows.outputs == Strings{"a+1", "a+2", "b+1", "b+2"});
  CHECK(rows.input.names == Strings{"b", "a"});
  CHECK(rows.input.mean == std::vector<double>{75, 7.5});
  CHECK(rows.output.mean == std::vector<double>{7.5, 7.5, 75, 75});
  const auto data = forecast_data(series, options, {80, 10}, rows);
  // Targets 16 and 17 are the only ones in the validation set. Their frames are from earlier rows.
  const Batch batch = data->validation(0);
  CHECK(batch.frames.to_vector<float>() == std::vector<float>{130, 13, 140, 14, 150, 15});
  CHECK(batch.target.to_vector<float>() == std::vector<float>{16, 17, 160, 170});
  CHECK(data->validation_batches() == 1);
  // 16 training rows give 12 windows of 3 + 2 rows.
  float highest = 0;
  for (const float x : data->training(0, Random(1)).target.to_vector<float>()) highest = std::max(highest, x);
  CHECK(highest == 150);
  CHECK(contains(data->fingerprint(), "12 + 1 rows"));
  ForecastOptions robust = options;
  robust.huber_delta = 0.5;  // a run with another loss can't be continued with these data
  CHECK(forecast_data(series, robust, {80, 10}, rows)->fingerprint() != data->fingerprint());
  const auto test = forecast_data(series, options, TextSplit{80, 10}.test(), rows);
  CHECK(test->validation(0).target.to_vector<float>() == std::vector<float>{18, 19, 180, 190});
  CHECK(last_frames(series, {"a"}, 2).to_vector<float>() == std::vector<float>{18, 19});
  CHECK_THROWS_AS((void)last_frames(series, {"a"}, 21), Error);
}

TEST_CASE("series: MAE of the last value and of the value one season earlier") {
  Series series = counting(40);
  for (std::size_t i = 0; i < 40; ++i) series.columns[0][i] = static_cast<float>(i % 4);  // 0 1 2 3 0 1 2 3 …
  ForecastOptions options = options_for(6, 5, {"b", "a"}, {"a"});
  options.season = 4;
  const auto data = forecast_data(series, options, {50, 50}, forecast_row_options(series, options, 20));
  const auto meter = data->meter();
  const Batch batch = data->validation(0);
  meter->add(raw::convert(batch.target, DType::f64), batch);
  CHECK(metric_of(*meter, "MAE") == 0);
  CHECK(metric_of(*meter, "MAE of a season before") == 0);
  double sum = 0, count = 0;
  for (int at = 20; at + 5 <= 40; ++at)
    for (int step = 0; step < 5; ++step, ++count) sum += std::abs((at + step) % 4 - (at - 1) % 4);
  CHECK(metric_of(*meter, "MAE of the last value") == doctest::Approx(sum / count));
  options.frames = {"b"};
  const auto other = forecast_data(series, options, {50, 50}, forecast_row_options(series, options, 20));
  CHECK(other->meter()->metrics().size() == 2);

  const Tensor output = add(raw::convert(batch.target, DType::f64), Tensor::full({}, 3, DType::f64));  // differs by 3
  CHECK(data->loss(output, batch).item() == doctest::Approx(9));
  options.huber_delta = 0.5;
  const auto huber = forecast_data(series, options, {50, 50}, forecast_row_options(series, options, 20));
  CHECK(huber->loss(output, batch).item() == doctest::Approx(0.5 * (3 - 0.25)));
}

TEST_CASE("series: invalid options are refused") {
  const Series series = counting(20);
  const auto refused = [&](const ForecastOptions& options, const TextSplit& split = {80, 10}) {
    return error_of([&] { (void)forecast_data(series, options, split, forecast_row_options(series, options, 16)); });
  };
  CHECK(refused(options_for(3, 2, {"a"}, {"a"})).empty());
  CHECK(contains(refused(options_for(3, 2, {}, {"a"})), "at least one column to read"));
  CHECK(contains(refused(options_for(3, 2, {"c"}, {"a"})), "expected a column \"c\"; the columns are a, b"));
  CHECK(contains(refused(options_for(0, 2, {"a"}, {"a"})), "a length and a horizon of at least 1"));
  CHECK(contains(refused(options_for(3, 3, {"a"}, {"a"})), "20 rows are too few for windows of 3 + 3 rows"));
  CHECK(contains(refused(options_for(16, 1, {"a"}, {"a"})), "too few"));
  ForecastOptions season = options_for(3, 2, {"a"}, {"a"});
  season.season = 4;
  CHECK(contains(refused(season), "a season of at most the 3 rows"));
}

}  // namespace weft::test
