// Reads a series of numbers as the data of weft train, according to --frames, --target, --horizon and --season.
#pragma once
#include <weft/checkpoint.h>
#include <weft/series.h>

#include "train/train_options.h"

// Whether the options describe a forecast. Throws a UsageError if they contradict each other.
bool is_forecast(const TrainOptions& o);

// Returns the options of a forecast from sequences of this length.
weft::ForecastOptions forecast_options(const TrainOptions& o, std::int64_t length);

// Reads the series of --data, with the columns that the options name.
weft::Series read_series(const TrainOptions& o);

// Returns the number of rows at the beginning of the series that form the training set.
std::int64_t training_rows(const TrainOptions& o, const weft::Series& series);

// Returns the options of a forecast with the model of a checkpoint. For `season`, see ForecastOptions.
weft::ForecastOptions forecast_options(const weft::Checkpoint& checkpoint, std::int64_t season, std::int64_t batch);

// Returns the data for measuring a checkpoint on the validation set that `split` defines in the series.
std::unique_ptr<weft::RowData> measured_series(const weft::Checkpoint& checkpoint, const weft::Series& series,
                                               const weft::ForecastOptions& options, const weft::TextSplit& split);
