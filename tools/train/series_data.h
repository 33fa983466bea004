// Series of numbers as data of weft train: the options --frames, --target, --horizon and --season.
#pragma once
#include <weft/checkpoint.h>
#include <weft/series.h>

#include "train/train_options.h"

// Whether the options describe a forecast. Error if they contradict each other.
bool is_forecast(const TrainOptions& o);

// What a model of sequences of this length forecasts from.
weft::ForecastOptions forecast_options(const TrainOptions& o, std::int64_t length);

// The series of --data, with the columns of the options.
weft::Series read_series(const TrainOptions& o);

// Its first rows, on which a run trains.
std::int64_t training_rows(const TrainOptions& o, const weft::Series& series);

// What the model of a checkpoint forecasts from. season: see ForecastOptions.
weft::ForecastOptions forecast_options(const weft::Checkpoint& checkpoint, std::int64_t season, std::int64_t batch);

// Data that measure a checkpoint on the part of the series that `split` calls validation.
std::unique_ptr<weft::RowData> measured_series(const weft::Checkpoint& checkpoint, const weft::Series& series,
                                               const weft::ForecastOptions& options, const weft::TextSplit& split);
