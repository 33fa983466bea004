#include <weft/encoded_text.h>
#include <weft/error.h>

#include <algorithm>
#include <filesystem>

#include "model_options.h"
#include "report/samples.h"

namespace report {
namespace {

using weft::Error;

// A path or a number among the settings of a run, or null.
nlohmann::json setting(const nlohmann::json& run, const char* section, const char* name) {
  const auto group = run.find(section);
  if (group == run.end() || !group->is_object() || !group->contains(name)) return nullptr;
  return (*group)[name];
}

std::string file_of(const nlohmann::json& run, const char* name) {
  const nlohmann::json path = setting(run, "data", name);
  if (!path.is_string()) return "";
  const std::string file = path;
  if (!std::filesystem::exists(file)) throw Error("the data file \"" + file + "\" is gone");
  if (!std::filesystem::is_regular_file(file)) throw Error("\"" + file + "\" is no file that can be read again");
  return file;
}

// At most `most` of them, evenly spread.
weft::LabelledTexts spread(const weft::LabelledTexts& all, std::int64_t most) {
  const auto count = static_cast<std::int64_t>(all.texts.size());
  if (count <= most) return all;
  weft::LabelledTexts some;
  some.classes = all.classes;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto row = static_cast<std::size_t>(i * count / most);
    some.texts.push_back(all.texts[row]);
    some.labels.push_back(all.labels[row]);
  }
  return some;
}

void compare(Validation& validation, const weft::Data& whole, const nlohmann::json& run) {
  const nlohmann::json known = setting(run, "found", "data");
  validation.changed = known.is_string() && known.get<std::string>() != whole.fingerprint();
}

Validation load_rows(const nlohmann::json& run, const weft::Checkpoint& checkpoint, std::int64_t most) {
  const std::string csv = file_of(run, "csv"), csv_test = file_of(run, "csv-test");
  if (csv.empty()) throw Error("run.json names no file of rows");
  weft::LabelledTexts training = weft::read_csv(csv, checkpoint.model->outputs());
  const weft::LabelledTexts test =
      csv_test.empty() ? weft::hold_out(training) : weft::read_csv(csv_test, training.classes);
  Validation validation;
  const std::int64_t length = sequence_length(checkpoint);
  compare(validation, weft::ClassifierData(training, test, checkpoint.tokenizer, length, 32), run);
  validation.of = static_cast<std::int64_t>(test.texts.size());
  validation.rows = spread(test, most);
  validation.data =
      std::make_unique<weft::ClassifierData>(weft::LabelledTexts(), validation.rows, checkpoint.tokenizer, length, 32);
  return validation;
}

Validation load_text(const nlohmann::json& run, const weft::Checkpoint& checkpoint) {
  const std::string path = file_of(run, "text");
  if (path.empty()) throw Error("run.json names no text");
  Validation validation;
  validation.data =
      std::make_unique<weft::TextData>(weft::EncodedText::of_file(path, *checkpoint.tokenizer), checkpoint.tokenizer,
                                       checkpoint.model->task(), sequence_length(checkpoint), 4);
  compare(validation, *validation.data, run);
  return validation;
}

}  // namespace

std::int64_t sequence_length(const weft::Checkpoint& checkpoint) {
  return checkpoint.info.length > 0 ? checkpoint.info.length : usual_length(*checkpoint.model);
}

Validation load_validation(const nlohmann::json& run, const weft::Checkpoint& checkpoint, std::int64_t rows) {
  const bool labelled = weft::task_source(checkpoint.model->task()) == weft::Source::rows;
  return labelled ? load_rows(run, checkpoint, rows) : load_text(run, checkpoint);
}

}  // namespace report
