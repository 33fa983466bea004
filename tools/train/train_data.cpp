#include "train/train_data.h"

#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/run_folder.h>
#include <weft/task_data.h>

#include <algorithm>
#include <filesystem>

#include "console/command.h"
#include "console/number.h"
#include "console/ranks.h"
#include "console/report.h"
#include "options/recipes.h"
#include "options/text_input.h"
#include "train/best_by.h"
#include "train/divided_rows.h"
#include "train/long_rows.h"
#include "train/series_data.h"

namespace {

using weft::Error;

constexpr std::int64_t usual_series_length = 64;

std::unique_ptr<weft::Model> new_model(const TrainOptions& o, const weft::ModelSpec& spec) {
  auto model = weft::make_model(spec, {weft::Random(o.seed).split(0), weft::DType::f32});
  model->set_precision(o.precision);
  model->set_recompute(o.recompute);
  return model;
}

// Returns the saved tokenizer of a resumed run. If there is none, returns that of --from, or else the chosen one.
std::shared_ptr<const weft::Tokenizer> tokenizer_of(const TrainOptions& o, const weft::Checkpoint* from,
                                                    const weft::Texts& texts, weft::Task task) {
  std::error_code ignored;
  const std::string last = weft::last_path(o.out);
  if (!o.resume.empty() && std::filesystem::exists(last + "/model.safetensors", ignored)) try {
      return weft::load_checkpoint(last, weft::Purpose::inference).tokenizer;
    } catch (const Error&) {  // the checkpoint is damaged, and the run continues without it
    }
  return from != nullptr ? from->tokenizer : o.tokenizer.make(texts, task, weft::usual_tokenizer(task));
}

// Returns the token ids of the text. With several ranks, the first one writes the cache and the others read it. Ranks
// that don't see the cache store their ids in a temporary file.
weft::EncodedText encoded(const TextInput& input, const weft::Tokenizer& tokenizer, const TrainOptions& o) {
  const std::string cache = o.out + "/tokens.ids";
  if (o.ranks == nullptr) return input.encoded(tokenizer, cache);
  weft::EncodedText text;
  if (is_first(o.ranks)) text = input.encoded(tokenizer, cache);
  o.ranks->gather("");  // after this, the cache is written
  std::error_code ignored;
  if (!is_first(o.ranks)) text = input.encoded(tokenizer, std::filesystem::exists(cache, ignored) ? cache : "");
  return text;
}

// Reads the data before it makes the model, which may be large. `from` is the checkpoint whose tokenizer is used, or
// null.
Training load_text(const TrainOptions& o, weft::ModelSpec spec, const weft::Checkpoint* from) {
  const TextInput input(o.text);
  const auto tokenizer = tokenizer_of(o, from, input.texts(), spec.task);
  spec.vocabulary = tokenizer->size();
  const auto planned = outline(spec);
  const weft::EncodedText text = encoded(input, *tokenizer, o);
  const std::int64_t length = usual_length(*planned), batch = o.batch.value_or(12);
  const weft::TextSplit split = weft::text_split(o.split);
  const auto data_of = [&](const weft::TextSplit& each) {
    return std::make_unique<weft::TextData>(text, tokenizer, spec.task, length, batch, each);
  };
  Training made;
  made.data = data_of(split);
  if (split.rest() > 0) made.test = data_of(split.test());
  made.size = {text.size() * split.training / 100, batch * length, false};
  made.notes.push_back("text: " + grouped(text.size()) + " tokens, " + o.split +
                       " % for training, validation and test (--split)");
  check_memory_to_train(*planned);
  made.model = new_model(o, spec);
  return made;
}

// Returns a line that says how many labels of the data the checkpoint of --from knows.
std::string describe_known(const std::vector<std::string>& labels, const std::vector<std::string>& of_checkpoint,
                           const std::string& from) {
  const auto is_known = [&](const std::string& label) {
    return std::find(of_checkpoint.begin(), of_checkpoint.end(), label) != of_checkpoint.end();
  };
  const auto known = std::count_if(labels.begin(), labels.end(), is_known);
  const std::string count = std::to_string(known) + " of " + std::to_string(labels.size());
  return "labels: " + count + " known to " + from +
         (known == 0                    ? "; the head is new"
          : known == std::ssize(labels) ? ""
                                        : "; the head's rows for the other labels are new");
}

// Returns the length that rows are padded to, or 0 for no padding. This is --pad-to if it is given. If the run begins
// with a classifier in weft's own format, it is the length of that classifier's rows, unless they were padded to the
// length of its sequences. Otherwise it is `usual`.
std::int64_t filled_length(const TrainOptions& o, const weft::Checkpoint* from, std::int64_t usual) {
  if (o.pad_to == "exact") return 0;
  if (!o.pad_to.empty()) return std::stoll(o.pad_to);
  if (from == nullptr || !o.resume.empty() || !from->info.format.empty()) return usual;
  if (from->model->task() != weft::Task::classifier || from->info.pad_to == usual_length(*from->model)) return usual;
  return from->info.pad_to;
}

// Returns "3 labels: a, b, c", or "price has the mean 12.3 and the standard deviation 4.5".
std::string describe_outputs(const weft::TargetKind& kind) {
  if (!kind.output.defined())
    return grouped(std::ssize(kind.outputs)) + (kind.task == weft::Task::tagging ? " tags: " : " labels: ") +
           some_labels(kind.outputs);
  std::string text;
  for (std::size_t i = 0; i < kind.outputs.size(); ++i)
    text += (i > 0 ? "; " : "") + kind.outputs[i] + " has the mean " + as_text(kind.output.mean[i]) +
            " and the standard deviation " + as_text(kind.output.deviation[i]);
  return text;
}

// Throws a UsageError if an option for pictures is given.
void check_no_picture_options(const TrainOptions& o, weft::RowContent content) {
  const char* given = o.patch ? "--patch" : o.shift ? "--shift" : o.flips ? "--flips" : nullptr;
  if (given != nullptr)
    throw UsageError(std::string(given) + " is for pictures, but the rows of --data are " +
                     weft::row_content_name(content));
}

// Throws a UsageError if an option for texts is given.
void check_no_text_options(const TrainOptions& o, weft::RowContent content) {
  const char* given = !o.tokenizer.tokenizer.empty() ? "--tokenizer"
                      : !o.pad_to.empty()            ? "--pad-to"
                      : o.word_dropout > 0           ? "--word-dropout"
                                                     : nullptr;
  if (given != nullptr)
    throw UsageError(std::string(given) + " is for texts, but the rows of --data are " +
                     weft::row_content_name(content));
}

// Throws a UsageError if an option for the loss is given that the task doesn't support.
void check_no_learning_options(const TrainOptions& o, weft::Task task, bool has_huber) {
  const char* given = !o.balance.empty()      ? "--balance"
                      : o.focal               ? "--focal"
                      : o.huber && !has_huber ? "--huber"
                                              : nullptr;
  if (given != nullptr) throw UsageError(std::string(given) + " can't be used with the task " + weft::task_name(task));
}

// Throws a UsageError if an option for texts is given that the task doesn't support.
void check_text_options(const TrainOptions& o, weft::Task task) {
  if (task != weft::Task::classifier && (!o.pad_to.empty() || o.word_dropout > 0))
    throw UsageError(std::string(o.pad_to.empty() ? "--word-dropout" : "--pad-to") +
                     " applies only to the task classifier");
  const bool has_second = !o.data_options.labeled().second.empty();
  if (task == weft::Task::tagging && has_second) throw UsageError("--columns: a tagger reads single texts, not pairs");
  if (task != weft::Task::retrieval) return;
  if (has_second)
    throw UsageError(
        "--columns: the task retrieval reads no column second=NAME, because the label is the second text of a pair");
  if (o.batch == 1)
    throw UsageError("--batch 1: a retrieval model compares the pairs of a batch, so a batch needs at least 2 pairs");
  check_no_learning_options(o, task, false);
}

// Throws a UsageError if an option doesn't apply to the rows of --data.
void check_row_options(const TrainOptions& o, weft::Task task, weft::RowContent content) {
  if (content != weft::RowContent::pictures) check_no_picture_options(o, content);
  if (content != weft::RowContent::texts) check_no_text_options(o, content);
  else check_text_options(o, task);
  if (content == weft::RowContent::texts && !o.positions.empty())
    throw UsageError("--positions is for rows of numbers, but the rows of --data are texts");
}

// Adds a note for each set with rows that are longer than the model's sequences.
void note_long_rows(const DividedRows& rows, const weft::RowTask& task, std::int64_t longest,
                    std::vector<std::string>& notes) {
  for (const auto& [set, name] : {std::pair(&rows.training, "the training set"),
                                  {&rows.validation, "the validation set"},
                                  {&rows.test, "the test set"}})
    if (const std::string note = long_rows_note(*set, task, longest, name); !note.empty()) notes.push_back(note);
}

// Sets the kind of positions that --positions names. Learned positions need the length of the sequences.
void set_positions(const TrainOptions& o, std::int64_t length, weft::InputSpec& input) {
  if (o.positions.empty()) return;
  input.positions = o.positions;
  if (o.positions == "learned" && !input.is_picture()) input.length = length;
}

// Returns the input format of the new model. With --from, it is that of the given model. Otherwise, it depends on the
// rows.
weft::InputSpec input_of(const TrainOptions& o, const weft::Checkpoint* from, const weft::LabeledTexts& rows) {
  const weft::RowContent content = rows.content();
  if (from == nullptr)
    return weft::frame_input(
        rows, content == weft::RowContent::pictures ? o.patch.value_or(weft::usual_patch(rows.picture)) : 1);
  return from->model->input();
}

// Returns the number of rows in an epoch. --balance rows repeats some rows.
std::int64_t rows_of_epoch(const TrainOptions& o, const weft::LabeledTexts& training) {
  if (o.learning().balance != weft::Balance::rows) return std::ssize(training.texts);
  return std::ssize(weft::balanced_rows(training.labels, std::ssize(training.names)));
}

// Returns what the model reads from the rows and what it predicts, and adds it to the spec of the model.
weft::RowTask planned_task(const TrainOptions& o, weft::ModelSpec& spec, const weft::Checkpoint* from,
                           const weft::LabeledTexts& training) {
  weft::RowTask task{weft::find_targets(spec.task, training)};
  constexpr std::int64_t usual_dimensions = 128;
  spec.classes =
      spec.task == weft::Task::retrieval ? o.dimensions.value_or(usual_dimensions) : std::ssize(task.targets.outputs);
  spec.output = task.targets.output;
  spec.vocabulary = 0;
  if (training.content() == weft::RowContent::texts) {
    task.tokenizer = tokenizer_of(o, from, weft::texts_to_learn(training, spec.task), spec.task);
    spec.vocabulary = task.tokenizer->size();
    return task;
  }
  spec.input = input_of(o, from, training);
  if (from == nullptr && o.model.has_usual_length()) set_length(spec, weft::longest_row(training, spec.input));
  set_positions(o, usual_length(*outline(spec)), spec.input);
  task.input = spec.input;
  return task;
}

// Loads labeled rows: texts, pairs of texts, pictures, sounds or frames.
Training load_rows(const TrainOptions& o, weft::ModelSpec spec, const weft::Checkpoint* from) {
  DividedRows rows = divided_rows(o, spec.task);
  check_row_options(o, spec.task, rows.training.content());
  if (from != nullptr) {
    const weft::InputSpec& input = from->model->input();
    check_content(rows.training.content(), *from, o.data);
    check_picture_size(rows.training.picture, input.height, input.width, o.data);
  }
  const weft::RowTask task = planned_task(o, spec, from, rows.training);
  const auto planned = outline(spec);
  weft::TaskDataOptions how;
  how.length = usual_length(*planned);
  how.batch = o.batch.value_or(spec.task == weft::Task::retrieval ? 64 : 32);
  Training made;
  made.notes = std::move(rows.notes);
  if (task.tokenizer != nullptr) {
    made.columns = rows.training.columns;
    made.second_columns = rows.training.second_columns;
  }
  made.size = {rows_of_epoch(o, rows.training), how.batch, true};
  if (spec.task != weft::Task::classifier && spec.task != weft::Task::retrieval)
    made.notes.push_back(std::string(weft::task_name(spec.task)) + ": " + describe_outputs(task.targets));
  if (spec.task == weft::Task::classifier && task.tokenizer != nullptr) {
    const std::int64_t filled = filled_length(o, from, how.length);
    how.padding = filled > 0 ? weft::Padding::full : weft::Padding::exact;
    if (filled > 0) how.length = filled;
  }
  note_long_rows(rows, task, how.length, made.notes);
  if (!rows.test.texts.empty()) made.test = weft::task_data({}, std::move(rows.test), task, how);
  weft::TaskDataOptions to_train = how;
  to_train.word_dropout = o.word_dropout;
  to_train.augmentation = {o.flips, o.shift.value_or(0)};
  to_train.learning = o.learning();
  made.data = weft::task_data(std::move(rows.training), std::move(rows.validation), task, to_train);
  check_memory_to_train(*planned);
  made.model = new_model(o, spec);
  return made;
}

// Loads windows of a series. The last windows are the test set.
Training load_series(const TrainOptions& o, weft::ModelSpec spec, const weft::Checkpoint* from) {
  if (from != nullptr && from->model->task() != weft::Task::forecast)
    throw UsageError("\"" + o.from + "\" has the task " + weft::task_name(from->model->task()) + ", expected forecast");
  spec.task = weft::Task::forecast;
  const weft::Series series = read_series(o);
  const weft::TextSplit split = weft::text_split(o.split);
  const std::int64_t length = config_value(spec.config, "seq_len", usual_series_length);
  set_length(spec, length);
  weft::ForecastOptions options = forecast_options(o, length);
  options.huber_delta = o.huber.value_or(0);
  check_no_learning_options(o, spec.task, true);
  weft::RowDataOptions rows = weft::forecast_row_options(series, options, training_rows(o, series));
  if (from != nullptr) {
    if (from->model->input().names != options.frames)
      throw UsageError("the model in \"" + o.from + "\" reads the columns " + list(from->model->input().names) +
                       ", but --frames names other columns: " + o.frames);
    rows.input = from->model->input();
  }
  set_positions(o, length, rows.input);
  Training made;
  made.notes.push_back(o.data + ": " + series.format + "; " + grouped(series.rows()) + " rows, " + o.split +
                       " % for training, validation and test, in this order");
  made.notes.push_back("forecast: " + std::to_string(o.horizon) + " rows of " + o.target + " from " +
                       std::to_string(length) + " rows of " + o.frames);
  auto data = weft::forecast_data(series, options, split, rows);
  const weft::ModelSpec of_data = data->spec(spec.arch, spec.config);
  if (split.rest() > 0) made.test = weft::forecast_data(series, options, split.test(), rows);
  made.data = std::move(data);
  made.size = {training_rows(o, series), options.batch, true};
  check_memory_to_train(*outline(of_data));
  made.model = new_model(o, of_data);
  return made;
}

}  // namespace

void check_source(const TrainOptions& o) {
  if (o.text.empty() == o.data.empty())
    throw UsageError(o.model.recipe.empty()
                         ? "give --text FILE to train a language model, or --data FILE for any other task"
                         : "the recipe " + o.model.recipe + " needs " + recipe_data(recipe(o.model.recipe)));
}

Training load_training(const TrainOptions& o) {
  check_source(o);
  const weft::Source source = o.data.empty() ? weft::Source::text : weft::Source::rows;
  std::optional<weft::Checkpoint> from;
  if (!o.from.empty()) from = weft::load_checkpoint(o.from, weft::Purpose::inference);
  const weft::Checkpoint* start = from ? &*from : nullptr;
  weft::ModelSpec spec = o.model.spec(source, start != nullptr ? start->model.get() : nullptr);
  spec.input = {};  // that of the data, which may differ from that of a recipe
  const bool forecasts = is_forecast(o);
  if (!forecasts && spec.task == weft::Task::forecast)
    throw UsageError("a forecast needs --frames, the columns of --data to read, and --target, the columns to predict");
  if (weft::task_source(spec.task) != source)
    throw UsageError(std::string("the task ") + weft::task_name(spec.task) + " needs " +
                     (o.data.empty() ? "--data" : "--text"));
  Training training = o.data.empty() ? load_text(o, spec, start)
                      : forecasts    ? load_series(o, spec, start)
                                     : load_rows(o, spec, start);
  training.best_by = metric_of(o.best_by, *training.data);
  if (start == nullptr) return training;
  const std::vector<std::string> labels = training.data->labels();
  if (labels.empty()) {
    training.new_parameters = weft::copy_parameters(*start->model, *training.model);
  } else {
    training.new_parameters = weft::copy_parameters(*start, *training.model, labels);
    if (!start->info.labels.empty() && o.resume.empty())
      training.notes.push_back(describe_known(labels, start->info.labels, o.from));
  }
  return training;
}

void choose_steps(TrainOptions& o, Training& training) {
  const std::int64_t micro_batches = o.micro_batches.value_or(o.ranks == nullptr ? 1 : o.ranks->size());
  if (!o.steps) {
    const ChosenSteps chosen =
        o.epochs ? steps_of_epochs(*o.epochs, training.size, micro_batches) : usual_steps(training.size, micro_batches);
    o.steps = chosen.steps;
    training.notes.push_back(chosen.note);
  }
  if (!o.eval_every) o.eval_every = std::clamp<std::int64_t>(*o.steps / 10, 1, 500);
}
