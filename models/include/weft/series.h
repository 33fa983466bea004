/// \file
/// Time series, and the data for models that predict the next values of a series.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/row_data.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A time series: columns of numbers. The numbers of a row belong to the same point in time. Rows are in chronological
/// order.
struct Series {
  std::vector<std::string> names;           ///< names of the columns
  std::vector<std::vector<float>> columns;  ///< the numbers of each column; all columns have the same length
  std::string format;                       ///< the format of the file: "CSV", "TSV" or "semicolons"

  std::int64_t rows() const noexcept {
    return columns.empty() ? 0 : static_cast<std::int64_t>(columns[0].size());
  }  ///< number of rows
};

/// Reads the named columns of a table with a header. Commas, tabs or semicolons separate the fields. If a column is
/// missing, the function throws an Error that names the file and the column. If a field is not a finite number, the
/// Error names the file, the row (from 1, counting the header) and the column.
Series read_series(const std::string& path, const std::vector<std::string>& columns);

/// The input and the targets of a forecast.
struct ForecastOptions {
  std::vector<std::string> frames;   ///< columns that the model reads
  std::vector<std::string> targets;  ///< columns that the model predicts
  std::int64_t length = 64;          ///< number of rows that the model reads
  std::int64_t horizon = 1;          ///< number of following rows that the model predicts
  std::int64_t season = 0;           ///< rows in a season, for the metric of a seasonal forecast; 0: none
  std::int64_t batch = 32;           ///< number of windows in a batch
  double huber_delta = 0;            ///< see ObjectiveOptions (weft/objective.h)
};

/// Returns the RowDataOptions for this forecast. The outputs are "NAME+1" … "NAME+horizon" for each target. The mean
/// and the standard deviation of each column are those of the first `training` rows.
RowDataOptions forecast_row_options(const Series& series, const ForecastOptions& options, std::int64_t training);

/// Makes the training and validation windows of a series. `split` divides the rows of the series by position
/// (TextSplit), and `rows` is the result of forecast_row_options(). Training windows lie within the training part. The
/// targets of validation windows lie within the validation part, but the rows that the model reads may precede it. The
/// metrics are MAE and R2 of the model. If all targets are among the frames, there are also the MAE of a forecast that
/// repeats the last value and, unless `season` is 0, the MAE of a forecast that repeats the value from one season
/// earlier. Throws an Error if a part has no window.
std::unique_ptr<RowData> forecast_data(const Series& series, const ForecastOptions& options, const TextSplit& split,
                                       RowDataOptions rows);

/// Returns the last `length` rows of the columns `frames` as a tensor (1, length, frames). Throws an Error if the
/// series has fewer rows.
Tensor last_frames(const Series& series, const std::vector<std::string>& frames, std::int64_t length);

}  // namespace weft
WEFT_PUBLIC_END
