// Tests of rows that a program makes: batches, training on frames, refusals.
#include "weft/row_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"

namespace weft::test {
namespace {

// Row k has 3 to 6 frames of two numbers. Its target is the mean of each channel.
Row wave(std::int64_t k) {
  const std::int64_t n = 3 + k % 4;
  std::vector<float> x;
  double sum[2] = {0, 0};
  for (std::int64_t i = 0; i < 2 * n; ++i) {
    x.push_back(static_cast<float>(std::sin(static_cast<double>(k * 7 + i * i))));
    sum[i % 2] += x.back() / static_cast<double>(n);
  }
  return {
      {}, Tensor::from(x, {n, 2}), Tensor::from<float>({static_cast<float>(sum[0]), static_cast<float>(sum[1])}, {2})};
}

RowDataOptions options_for(Task task = Task::regression) {
  RowDataOptions options;
  options.task = task;
  options.batch = 5;
  options.length = 6;
  options.outputs = {"a", "b"};
  options.input.channels = 2;
  return options;
}

RowData waves(const RowDataOptions& options = options_for()) {
  return {{40, wave}, {13, [](std::int64_t k) { return wave(100 + k); }}, options};
}

std::string config_of(const std::string& arch) {
  return arch == "tnn" ? R"({"d_model":16,"layers":1})" : R"({"d_model":16,"layers":1,"seq_len":8})";
}

}  // namespace

TEST_CASE("row data: padding of shorter rows has no effect on a model's outputs or loss") {
  const RowData data = waves();
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto model = make_model(data.spec(arch, config_of(arch)), {Random(5), DType::f32});
    double loss = 0;
    for (std::int64_t k = 0; k < 13; ++k) {
      const Row row = wave(100 + k);
      const Tensor output = model->forward({{}, reshape(row.frames, {1, row.frames.size(0), 2})});
      loss += mse_loss(output, reshape(row.target, {1, 2})).item() / 13;
    }
    CHECK(evaluate(*model, data).loss == doctest::Approx(loss).epsilon(1e-5));
  }
}

TEST_CASE("row data: rows of a length without any target are omitted") {
  RowDataOptions options = options_for(Task::tagging);
  const auto row = [](std::int64_t k) {
    const std::int64_t n = k == 0 ? 2 : 3;
    return Row{{}, Tensor::full({n, 2}, 1, DType::f32), Tensor::full({n}, k == 0 ? ignored_target : 1, DType::i64)};
  };
  const RowData data({2, row}, {2, row}, options);
  CHECK(data.validation(0).predicted == 3);
  const auto model = make_model(data.spec("gmlp", config_of("gmlp")), {Random(5), DType::f32});
  CHECK(std::isfinite(evaluate(*model, data).loss));
}

TEST_CASE("row data: batches have rows in order of length, padded by zeros that no model reads") {
  const RowData data = waves();
  CHECK(data.validation_batches() == 3);
  std::int64_t seen = 0;
  for (std::int64_t k = 0; k < 3; ++k) {
    const Batch batch = data.validation(k);
    const std::int64_t rows = batch.frames.size(0), longest = batch.frames.size(1);
    seen += rows;
    CHECK(batch.predicted == rows);
    CHECK(std::is_sorted(batch.lengths.begin(), batch.lengths.end()));
    CHECK((batch.lengths.empty() || batch.lengths.back() == longest));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t n = batch.lengths.empty() ? longest : batch.lengths[static_cast<std::size_t>(row)];
      const Tensor own = reshape(slice(slice(batch.frames, 0, row, row + 1), 1, 0, n), {n, 2});
      bool found = false;
      for (std::int64_t i = 0; i < 13; ++i) found = found || same_bits(own, wave(100 + i).frames);
      CHECK(found);
      CHECK(max_abs(slice(slice(batch.frames, 0, row, row + 1), 1, n, longest)) == 0);
    }
  }
  CHECK(seen == 13);
}

TEST_CASE("row data: each epoch has every row once, in a different order") {
  const RowData data({8,
                      [](std::int64_t k) {
                        return Row{{}, Tensor::full({1, 2}, static_cast<double>(k)), Tensor::zeros({2})};
                      }},
                     {1, wave}, [] {
                       RowDataOptions options = options_for();
                       options.batch = 4;
                       return options;
                     }());
  std::vector<std::vector<float>> epochs;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<float> rows;
    for (const std::int64_t k : {2 * epoch, 2 * epoch + 1}) {
      const auto x = data.training(k, Random(1)).frames.to_vector<float>();
      for (std::size_t i = 0; i < x.size(); i += 2) rows.push_back(x[i]);
    }
    CHECK(std::set<float>(rows.begin(), rows.end()).size() == 8);
    epochs.push_back(rows);
  }
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("row data: every architecture learns the mean of its frames, with the same bits for any number of threads") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const RowData data = waves();
    std::vector<double> losses;
    for (const int threads : {1, 2}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      const auto model = make_model(data.spec(arch, config_of(arch)), {Random(3), DType::f32});
      TrainOptions options = small_options(60);
      options.schedule.peak = 0.01;
      Trainer trainer(*model, data, options);
      const double before = evaluate(*model, data).loss;
      const RunResult result = trainer.run({});
      CHECK(result.evaluation->loss < 0.5 * before);
      CHECK(result.evaluation->predicted == 13);
      CHECK(result.evaluation->metric("R2") > 0.3);
      CHECK_FALSE(result.evaluation->bits_per_byte());
      losses.push_back(result.evaluation->loss);
    }
    CHECK(losses[0] == losses[1]);
  }
}

TEST_CASE("row data: every architecture learns from rows with tokens and frames, and its answer depends on both") {
  RowDataOptions options = options_for();
  options.outputs = {"sum"};
  options.tokenizer = words({"red green blue"});
  const std::vector<std::int64_t> ids = options.tokenizer->encode("red green blue");
  // Returns n frames of (y, 1) and n times word x. The target is the sum of x and 2 y.
  const auto row_with = [&](std::size_t x, std::int64_t y, std::int64_t n) {
    std::vector<float> frames;
    for (std::int64_t i = 0; i < n; ++i) frames.insert(frames.end(), {static_cast<float>(y), 1});
    return Row{Tensor::full({n}, static_cast<double>(ids[x]), DType::i64), Tensor::from(frames, {n, 2}),
               Tensor::full({1}, static_cast<double>(x) + 2 * static_cast<double>(y) - 3, DType::f32)};
  };
  const auto row = [&](std::int64_t k) { return row_with(static_cast<std::size_t>(k % 3), k / 3 % 3, 3 + k % 4); };
  const RowData data({36, row}, {9, row}, options);
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto model = make_model(data.spec(arch, config_of(arch)), {Random(3), DType::f32});
    TrainOptions how = small_options(100);
    how.schedule.peak = 0.01;
    Trainer trainer(*model, data, how);
    const double before = evaluate(*model, data).loss;
    const RunResult result = trainer.run({});
    CHECK(result.evaluation->loss < 0.2 * before);
    const auto answer = [&](std::size_t x, std::int64_t y) {
      const Row one = row_with(x, y, 4);
      return model->forward({reshape(one.tokens, {1, 4}), reshape(one.frames, {1, 4, 2})}).item();
    };
    CHECK(answer(2, 1) - answer(0, 1) > 1);  // 2, if the model is exact
    CHECK(answer(1, 2) - answer(1, 0) > 2);  // 4
  }
}

TEST_CASE("row data: a stopped run continues with the same bits, and the lowest MAE is the best") {
  const RowData data = waves();
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::int64_t stop_after) {
    const auto model = make_model(data.spec("gmlp", config_of("gmlp")), {Random(3), DType::f32});
    Trainer trainer(*model, data, small_options(12));
    const std::string path = folder / name;
    if (std::filesystem::exists(state_path(path))) trainer.load_state(state_path(path));
    RunOptions options;
    options.folder = path;
    options.eval_every = 3;
    options.best_by = "MAE";
    options.stop = [&] { return trainer.steps_done() == stop_after; };
    (void)trainer.run(options);
    return *trainer.best();
  };
  const BestEvaluation whole = run("whole", -1);
  (void)run("stopped", 7);
  const BestEvaluation resumed = run("stopped", -1);
  CHECK(whole.step == resumed.step);
  CHECK(whole.metric == resumed.metric);
  const Checkpoint a = load_checkpoint(folder / "whole" + "/last"), b = load_checkpoint(folder / "stopped" + "/last");
  const Batch batch = data.validation(2);
  CHECK(same_bits(a.model->forward({{}, batch.frames}), b.model->forward({{}, batch.frames})));
  CHECK(a.info.labels == std::vector<std::string>{"a", "b"});
  const Checkpoint best = load_checkpoint(folder / "whole");
  CHECK(best.info.step == whole.step);
  CHECK(evaluate(*best.model, data).metric("MAE") == doctest::Approx(whole.metric));
  CHECK(whole.metric <= evaluate(*a.model, data).metric("MAE"));
}

TEST_CASE("row data: an error for an unsuitable row has its number") {
  const auto refused = [](RowDataOptions options, const Row& row) {
    const RowData data({1, [&](std::int64_t) { return row; }}, {1, [&](std::int64_t) { return row; }},
                       std::move(options));
    const std::string error = error_of([&] { (void)data.validation(0); });
    CHECK(contains(error, "[rows] row 0 of the validation set: "));
    CHECK(contains(error_of([&] { (void)data.training(0, Random(1)); }), "of the training set"));
    return error;
  };
  const Tensor frames = Tensor::zeros({3, 2}), target = Tensor::zeros({2});
  CHECK(contains(refused(options_for(), {{}, Tensor::zeros({3, 3}), target}),
                 "frames f32 (n, 2), got none and f32 (3, 3)"));
  CHECK(contains(refused(options_for(), {{}, {}, target}), "got none and none"));
  CHECK(contains(refused(options_for(), {{}, Tensor::zeros({3, 2}, DType::f64), target}), "got none and f64"));
  CHECK(contains(refused(options_for(), {{}, Tensor::zeros({7, 2}), target}), "a length of 1 to 6, got 7"));
  CHECK(contains(refused(options_for(), {{}, Tensor::zeros({0, 2}), target}), "a length of 1 to 6, got 0"));
  CHECK(contains(refused(options_for(), {{}, frames, Tensor::zeros({3})}), "a target f32 (2,), got f32 (3,)"));
  CHECK(contains(refused(options_for(), {{}, frames, {}}), "got none"));
  CHECK(contains(refused(options_for(), {{}, frames, Tensor::full({2}, NAN)}), "a number is not finite"));
  CHECK(contains(refused(options_for(), {{}, Tensor::full({3, 2}, INFINITY), target}), "a number is not finite"));
  CHECK(contains(refused(options_for(Task::classifier), {{}, frames, Tensor::full({}, 2, DType::i64)}),
                 "a class from 0 to 1, got 2"));
  CHECK(contains(refused(options_for(Task::classifier), {{}, frames, Tensor::full({}, -100, DType::i64)}),
                 "a class from 0 to 1, got -100"));
  CHECK(contains(refused(options_for(Task::tagging), {{}, frames, Tensor::zeros({2}, DType::i64)}),
                 "a target i64 (3,), got i64 (2,)"));
  RowDataOptions both = options_for();
  both.tokenizer = words({"a b c"});
  CHECK(
      contains(refused(both, {Tensor::zeros({2}, DType::i64), frames, target}), "a token for each of 3 frames, got 2"));
  CHECK(contains(refused(both, {{}, frames, target}), "expected tokens i64 (n) and frames"));
}

TEST_CASE("row data: invalid options are refused") {
  const auto refused = [](RowDataOptions options, std::int64_t validation = 1) {
    return error_of([&] { (void)RowData({1, wave}, {validation, wave}, std::move(options)); });
  };
  CHECK(refused(options_for()).empty());
  CHECK(contains(refused(options_for(), 0), "the validation set has no rows"));
  RowDataOptions options = options_for();
  options.outputs = {};
  CHECK(contains(refused(options), "at least one output"));
  options = options_for(Task::causal_lm);
  CHECK_FALSE(refused(options).empty());
  options = options_for();
  options.input = {};
  CHECK(contains(refused(options), "expected a tokenizer, or an input of frames"));
  options = options_for();
  options.batch = 0;
  CHECK_FALSE(refused(options).empty());
  options = options_for();
  options.length = 0;
  CHECK_FALSE(refused(options).empty());
  CHECK(contains(error_of([] {
                   (void)RowData({1, nullptr}, {1, wave}, options_for());
                 }),
                 "a function that makes 1 rows"));
}

TEST_CASE("row data: a trainer refuses a model with other frames, and label smoothing for numbers") {
  const RowData data = waves();
  ModelSpec spec = data.spec("gmlp", config_of("gmlp"));
  spec.input.channels = 3;
  const auto other = make_model(spec, {Random(3), DType::f32});
  CHECK_THROWS_WITH_AS((void)Trainer(*other, data, small_options(2)),
                       "[train] the model reads frames of 3 channels, but the data have 2", Error);
  const auto model = make_model(data.spec("gmlp", config_of("gmlp")), {Random(3), DType::f32});
  TrainOptions options = small_options(2);
  options.label_smoothing = 0.1;
  Trainer trainer(*model, data, options);
  CHECK_THROWS_WITH_AS((void)trainer.step(), doctest::Contains("label smoothing needs targets that are classes"),
                       Error);
}

TEST_CASE("row data: the fingerprint distinguishes data") {
  RowDataOptions options = options_for();
  const std::string usual = waves(options).fingerprint();
  CHECK(usual == waves(options).fingerprint());
  const RowData other({40, [](std::int64_t k) { return wave(k + 1); }}, {13, wave}, options);
  CHECK(other.fingerprint() != usual);
  options.name = "waves";
  CHECK(waves(options).fingerprint() == "40 + 13 rows, waves");
}

}  // namespace weft::test
