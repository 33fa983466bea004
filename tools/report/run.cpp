#include "report/run.h"

#include <weft/error.h>
#include <weft/ops.h>
#include <weft/os.h>
#include <weft/run_folder.h>
#include <weft/tape.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "console/json_file.h"
#include "report/learned.h"
#include "report/metrics.h"
#include "report/predictions.h"

namespace report {
namespace {

using nlohmann::json;
using weft::Error;

std::string as_words(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Turns {"model": {"config": {"layers": …}}} into {"model: config: layers": …}.
void flatten(const json& values, const std::string& prefix, Json& flat) {
  for (const auto& each : values.items()) {
    const std::string name = prefix.empty() ? each.key() : prefix + ": " + each.key();
    if (each.value().is_object()) flatten(each.value(), name, flat);
    else flat[name] = as_words(each.value());
  }
}

// Returns the value at a path of run.json, or null. The path of the architecture is {"model", "arch"}, or {"arch"} if
// Trainer::run wrote the file.
json find(const json& run, std::initializer_list<const char*> path) {
  json at = run;
  for (const char* key : path) {
    if (!at.is_object() || !at.contains(key)) return nullptr;
    at = json(at[key]);
  }
  return at;
}

// Returns what determined the best evaluation of a run. Earlier versions of weft recorded only the name that was given
// on the command line, which could be "loss", "accuracy" or "f1".
Criterion criterion_of(const json& run) {
  const json found = find(run, {"found", "best-by"}), typed = find(run, {"training", "best-by"});
  if (found.is_object() && find(found, {"metric"}).is_string())
    return {found["metric"].get<std::string>(), find(found, {"lower-is-better"}) == true};
  if (!typed.is_string() || typed == "loss") return {};
  return {typed == "f1" ? "macro F1" : typed.get<std::string>(), false};
}

json first_of(const json& a, const json& b) { return a.is_null() ? b : a; }

// Returns the result of `make`. If it fails, adds a note and returns null.
template <class Make>
Json attempt(Json& notes, const std::string& what, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    notes.push_back(what + ": " + error.what());
    return nullptr;
  }
}

// Returns the first four rows, or fewer, of a tensor. The tensor may be undefined.
weft::Tensor first_rows(const weft::Tensor& x) {
  return x.defined() ? weft::slice(x, 0, 0, std::min<std::int64_t>(4, x.size(0))) : x;
}

// Adds samples of a checkpoint's model and figures of its weights.
void add_model(Json& described, const json& run, const std::string& folder, weft::Checkpoint loaded,
               const SampleOptions& options) {
  const weft::NoGrad suspended;
  std::optional<weft::Classifier> classifier;
  if (loaded.model->task() == weft::Task::classifier) classifier.emplace(std::move(loaded));
  const weft::Checkpoint& checkpoint = classifier ? classifier->checkpoint() : loaded;
  const weft::Model& model = *checkpoint.model;
  Json& notes = described["notes"];
  std::unique_ptr<Validation> validation;
  if (model.task() != weft::Task::causal_lm)
    (void)attempt(notes, "The page shows neither the validation set nor the figures that need it", [&] {
      validation = std::make_unique<Validation>(load_validation(run, folder, checkpoint, options.rows));
      return Json();
    });
  if (validation && validation->changed)
    notes.push_back(
        "The data file has changed since the run began. The run may have been trained on other rows than those "
        "shown");
  std::vector<std::vector<double>> probabilities;  // only for a classifier
  described["sample"] = attempt(notes, "No sample", [&] {
    if (model.task() == weft::Task::causal_lm) return text_sample(checkpoint, options);
    if (!validation) return Json();
    if (classifier) probabilities = classifier->probabilities(validation->rows.texts);
    if (classifier) return confusion_sample(*classifier, *validation, probabilities);
    return model.task() == weft::Task::masked_lm ? masked_sample(checkpoint, *validation) : Json();
  });
  if (validation && !(classifier && probabilities.empty()))
    described["predictions"] = attempt(
        notes, "No predictions", [&] { return prediction_figures(checkpoint, *validation, options, probabilities); });
  described["learned"] =
      attempt(notes, "No weights", [&] { return learned_weights(model, sequence_length(checkpoint)); });
  if (validation)
    described["mixing"] = attempt(notes, "No mixing", [&] {
      const weft::Batch batch = validation->data->validation(validation->data->validation_batches() / 2);
      return learned_mixing(model, {first_rows(batch.tokens), first_rows(batch.frames)});
    });
}

}  // namespace

void check_run(const std::string& folder) {
  const std::string begin = "expected the folder of a run, got ";
  if (!std::filesystem::exists(folder)) throw Error(begin + "\"" + folder + "\", which doesn't exist");
  if (!std::filesystem::is_directory(folder)) throw Error(begin + "the file \"" + folder + "\"");
  if (std::filesystem::exists(weft::run_path(folder))) return;
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  const std::filesystem::path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  if (std::filesystem::exists(weft::run_path(parent.string())))
    throw Error(begin + "\"" + folder + "\", which belongs to the run \"" + parent.string() + "\"");
  if (std::filesystem::exists(folder + "/model.safetensors"))
    throw Error(begin + "\"" + folder + "\", a checkpoint without run.json");
  throw Error(begin + "\"" + folder + "\", which has no run.json");
}

json read_description(const std::string& folder) {
  const std::string path = weft::run_path(folder);
  json run = parse_json(weft::os::read_file(path), path);
  if (!run.is_object()) throw Error("\"" + path + "\" is damaged: expected a JSON object");
  return run;
}

Json read_run(const std::string& folder, const std::string& name, const RunOptions& options) {
  check_run(folder);
  const json run = read_description(folder);
  Json described{{"name", name}, {"folder", std::filesystem::absolute(folder).lexically_normal().string()}};
  described["arch"] = as_words(first_of(find(run, {"model", "arch"}), find(run, {"arch"})));
  described["task"] = as_words(first_of(find(run, {"model", "task"}), find(run, {"task"})));
  described["steps"] = first_of(find(run, {"training", "steps"}), find(run, {"steps"}));
  described["parameters"] = find(run, {"found", "parameters"});
  described["data"] = first_of(find(run, {"found", "data"}), find(run, {"data"}));
  described["symbols"] = find(run, {"found", "symbols"});
  described["settings"] = Json::object();
  flatten(run, "", described["settings"]);
  described["metrics"] = read_metrics(weft::metrics_path(folder), criterion_of(run));
  described["notes"] = Json::array();
  for (const char* part : {"checkpoint", "sample", "predictions", "learned", "mixing"}) described[part] = nullptr;
  if (options.curves_only) return described;
  (void)attempt(described["notes"], "No model", [&] {
    weft::Checkpoint checkpoint = weft::load_checkpoint(weft::checkpoint_folder(folder), weft::Purpose::inference);
    described["checkpoint"] = {{"step", checkpoint.info.step}};
    described["parameters"] = weft::parameter_count(checkpoint.model->parameters());
    add_model(described, run, folder, std::move(checkpoint), options.sample);
    return Json();
  });
  return described;
}

std::vector<std::string> run_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const auto path = std::filesystem::absolute(folder).lexically_normal();
    names.push_back((path.has_filename() ? path : path.parent_path()).filename().string());
  }
  std::vector<std::string> clear = names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1) clear[i] = folders[i];
  return clear;
}

}  // namespace report
