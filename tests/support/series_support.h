// A small forecast whose model reads frames, which are numbers.
#pragma once
#include <cmath>
#include <string>

#include "train_support.h"
#include "weft/series.h"

namespace weft::test {

// Two waves of different periods. The model reads 12 rows of both and predicts the next two rows of the first.
inline SmallTask small_forecast(const std::string& arch) {
  Series series;
  series.names = {"a", "b"};
  series.columns.resize(2);
  for (int i = 0; i < 160; ++i) {
    series.columns[0].push_back(static_cast<float>(20 + 5 * std::sin(i * 0.5) + std::cos(i * 0.9)));
    series.columns[1].push_back(static_cast<float>(std::cos(i * 0.9)));
  }
  ForecastOptions options;
  options.frames = {"a", "b"};
  options.targets = {"a"};
  options.length = 12;
  options.horizon = 2;
  options.batch = 8;
  std::unique_ptr<RowData> data = forecast_data(series, options, {80, 20}, forecast_row_options(series, options, 128));
  std::unique_ptr<Model> model =
      make_model(data->spec(arch, R"({"layers":2,"d_model":16,"seq_len":12})"), {Random(3), DType::f32});
  return {std::move(data), std::move(model)};
}

}  // namespace weft::test
