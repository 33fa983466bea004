#include "train_data.h"

#include <weft/checkpoint.h>
#include <weft/encoded_text.h>
#include <weft/error.h>
#include <weft/run_folder.h>

#include <filesystem>

namespace {

using weft::Error;

std::unique_ptr<weft::Model> new_model(const TrainOptions& o, const weft::ModelSpec& spec) {
  return weft::make_model(spec, {weft::Random(o.seed).split(0), weft::DType::f32});
}

// The run's own, if it goes on and has saved it; else that of --from; else the chosen one.
std::shared_ptr<const weft::Tokenizer> tokenizer_of(const TrainOptions& o, const weft::Checkpoint* from,
                                                    const weft::Texts& texts, weft::Task task, const char* usual) {
  std::error_code ignored;
  const std::string last = weft::last_path(o.out);
  if (!o.resume.empty() && std::filesystem::exists(last + "/model.safetensors", ignored)) try {
      return weft::load_checkpoint(last, weft::Purpose::inference).tokenizer;
    } catch (const Error&) {  // a damaged one, which the run goes on without
    }
  return from != nullptr ? from->tokenizer : o.tokenizer.make(texts, task, usual);
}

// The data are read before the model is made, which may be large. from: whose tokenizer is taken, or null.
Training load_text(const TrainOptions& o, weft::ModelSpec spec, const weft::Checkpoint* from) {
  std::error_code ignored;  // what reads it says what is wrong
  const bool pipe = std::filesystem::is_fifo(o.text, ignored);
  const std::string piped = pipe ? weft::read_text(o.text) : "";  // it can't be read twice
  const weft::Texts texts = pipe ? weft::Texts([&](const auto& use) { use(piped); }) : weft::text_file(o.text);
  const auto tokenizer = tokenizer_of(o, from, texts, spec.task, "characters");
  spec.vocabulary = tokenizer->size();
  const auto planned = outline(spec);
  const weft::EncodedText text = pipe ? weft::EncodedText(piped, *tokenizer)
                                      : weft::EncodedText::of_file(o.text, *tokenizer, o.out + "/tokens.ids");
  auto data =
      std::make_unique<weft::TextData>(text, tokenizer, spec.task, usual_length(*planned), o.batch.value_or(12));
  check_memory_to_train(*planned);
  return {new_model(o, spec), std::move(data), {}};
}

Training load_csv(const TrainOptions& o, weft::ModelSpec spec, const weft::Checkpoint* from) {
  weft::LabelledTexts rows = weft::read_csv(o.csv, o.classes.value_or(0));
  const weft::LabelledTexts test = o.csv_test.empty() ? weft::hold_out(rows) : weft::read_csv(o.csv_test, rows.classes);
  if (rows.texts.empty()) throw Error("\"" + o.csv + "\" has one row, which is held out: give more, or --csv-test");
  const auto each = [&](const auto& use) {
    for (const std::string& text : rows.texts) use(text);
  };
  const auto tokenizer = tokenizer_of(o, from, each, spec.task, "words");
  spec.vocabulary = tokenizer->size();
  spec.classes = rows.classes;
  const auto planned = outline(spec);
  auto data =
      std::make_unique<weft::ClassifierData>(rows, test, tokenizer, usual_length(*planned), o.batch.value_or(32));
  check_memory_to_train(*planned);
  return {new_model(o, spec), std::move(data), {}};
}

}  // namespace

void check_source(const TrainOptions& o) {
  if (o.text.empty() == o.csv.empty())
    throw Error("give --text FILE for a language model or --csv FILE for a classifier");
}

Training load_training(const TrainOptions& o) {
  check_source(o);
  const weft::Source source = o.csv.empty() ? weft::Source::text : weft::Source::rows;
  std::optional<weft::Checkpoint> from;
  if (!o.from.empty()) from = weft::load_checkpoint(o.from, weft::Purpose::inference);
  const weft::Checkpoint* start = from ? &*from : nullptr;
  const weft::ModelSpec spec = o.model.spec(source, start != nullptr ? start->model.get() : nullptr);
  if (weft::task_source(spec.task) != source)
    throw Error(std::string("a ") + weft::task_name(spec.task) + " needs " + (o.csv.empty() ? "--csv" : "--text"));
  Training training = o.csv.empty() ? load_text(o, spec, start) : load_csv(o, spec, start);
  if (start != nullptr) training.new_parameters = weft::copy_parameters(*start->model, *training.model);
  return training;
}
