/// \file
/// Forecasts: tables of numbers in the order of time, and data for models that predict what follows.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/row_data.h"

#pragma GCC visibility push(default)
namespace weft {

/// Columns of numbers. Row i of all columns belongs to one time, and rows follow each other.
struct Series {
  std::vector<std::string> names;           ///< of the columns
  std::vector<std::vector<float>> columns;  ///< the numbers of each column, all of one length
  std::string form;                         ///< the format of the file, for people

  std::int64_t rows() const noexcept {
    return columns.empty() ? 0 : static_cast<std::int64_t>(columns[0].size());
  }  ///< how many
};

/// Reads columns of a table with a header: fields between commas, tabs or semicolons. An Error names the file and the
/// missing column, or the row (from 1, counting the header) and the column of what is not a finite number.
Series read_series(const std::string& path, const std::vector<std::string>& columns);

/// What a model forecasts from.
struct ForecastOptions {
  std::vector<std::string> frames;   ///< columns that the model reads
  std::vector<std::string> targets;  ///< columns that it predicts
  std::int64_t length = 64;          ///< rows that it reads
  std::int64_t horizon = 1;          ///< rows after these that it predicts
  std::int64_t season = 0;           ///< rows of a season, for a comparison; 0: none
  std::int64_t batch = 32;           ///< windows in a batch
  double huber_delta = 0;            ///< see ObjectiveOptions (weft/objective.h)
};

/// What a model of these options reads and predicts: outputs "NAME+1" … "NAME+horizon" for each target, and the mean
/// and the deviation of each column over the first `training` rows.
RowDataOptions forecast_row_options(const Series& series, const ForecastOptions& options, std::int64_t training);

/// Windows of a series: training on those within the first rows, validation on those whose targets are among the rows
/// that follow. Metrics are MAE and R2 of the model and, if all targets are among the frames, the MAE of the last value,
/// and of the value one season before. `split` divides the rows (TextSplit). Throws an Error if a part has no window.
std::unique_ptr<RowData> forecast_data(const Series& series, const ForecastOptions& options, const TextSplit& split,
                                       RowDataOptions rows);

/// The last `length` rows of the frames: (1, length, frames). Throws an Error if there are fewer.
Tensor last_frames(const Series& series, const std::vector<std::string>& frames, std::int64_t length);

}  // namespace weft
#pragma GCC visibility pop
