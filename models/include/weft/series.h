/// \file
/// Forecasts: time series, and data for models that predict their next values.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/row_data.h"

#pragma GCC visibility push(default)
namespace weft {

/// A time series: columns of numbers. Row i of all columns belongs to one time, and rows are in order of time.
struct Series {
  std::vector<std::string> names;           ///< names of the columns
  std::vector<std::vector<float>> columns;  ///< the numbers of each column; all columns have the same length
  std::string form;                         ///< the format of the file, for people to read

  std::int64_t rows() const noexcept {
    return columns.empty() ? 0 : static_cast<std::int64_t>(columns[0].size());
  }  ///< how many
};

/// Reads columns of a table with a header. Commas, tabs or semicolons separate the fields. An Error names the file and
/// the missing column. If a field is not a finite number, the Error names the file, the row (from 1, counting the
/// header) and the column.
Series read_series(const std::string& path, const std::vector<std::string>& columns);

/// The input and the targets of a forecast.
struct ForecastOptions {
  std::vector<std::string> frames;   ///< columns that the model reads
  std::vector<std::string> targets;  ///< columns that it predicts
  std::int64_t length = 64;          ///< number of rows that the model reads
  std::int64_t horizon = 1;          ///< number of rows after these that it predicts
  std::int64_t season = 0;           ///< number of rows in a season, for a comparison; 0: none
  std::int64_t batch = 32;           ///< number of windows in a batch
  double huber_delta = 0;            ///< see ObjectiveOptions (weft/objective.h)
};

/// Returns what a model with these options reads and predicts: the outputs "NAME+1" … "NAME+horizon" for each target,
/// and the mean and the standard deviation of each column over the first `training` rows.
RowDataOptions forecast_row_options(const Series& series, const ForecastOptions& options, std::int64_t training);

/// Makes windows of a series. `split` divides the rows (TextSplit). The training windows lie within the first part. The
/// targets of the validation windows lie within the part that follows. The metrics are MAE and R2 of the model. If all
/// targets are among the frames, there are also the MAE of predicting the last value and of predicting the value one
/// season earlier. Throws an Error if a part has no window.
std::unique_ptr<RowData> forecast_data(const Series& series, const ForecastOptions& options, const TextSplit& split,
                                       RowDataOptions rows);

/// Returns the last `length` rows of the columns `frames`: (1, length, frames). Throws an Error if there are fewer
/// rows.
Tensor last_frames(const Series& series, const std::vector<std::string>& frames, std::int64_t length);

}  // namespace weft
#pragma GCC visibility pop
