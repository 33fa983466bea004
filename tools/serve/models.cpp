#include "serve/models.h"

#include <weft/error.h>
#include <weft/run_folder.h>

#include <filesystem>
#include <set>

namespace serve {
namespace {

namespace fs = std::filesystem;

// Describes the files of a checkpoint by their names, sizes and times.
std::string files_of(const std::string& folder) {
  std::set<std::string> files;
  const std::string path = weft::checkpoint_folder(folder);
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    files.insert(entry.path().filename().string() + " " + std::to_string(entry.file_size()) + " " +
                 std::to_string(entry.last_write_time().time_since_epoch().count()));
  }
  std::string all = path;
  for (const std::string& file : files) all += "\n" + file;
  return all;
}

// Divides NAME=DIR. The name of a folder without NAME is its last component.
std::pair<std::string, std::string> name_and_folder(const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals != std::string::npos && equals > 0 && !fs::exists(given))
    return {given.substr(0, equals), given.substr(equals + 1)};
  fs::path path = fs::absolute(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return {path.filename().string(), given};
}

}  // namespace

Models::Models(const Settings& settings, Metrics& metrics) : settings_(settings), metrics_(metrics), memory_(settings) {
  for (const std::string& given : settings.models) {
    const auto [name, folder] = name_and_folder(given);
    if (entries_.count(name) > 0)
      throw weft::Error("expected models with different names, got \"" + name + "\" twice; give NAME=DIR");
    Entry& entry = entries_[name];
    entry.folder = folder;
    entry.files = files_of(folder);
    entry.model = std::make_shared<const ServedModel>(name, folder, settings, metrics, memory_);
  }
}

std::shared_ptr<const ServedModel> Models::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = name.empty() && entries_.size() == 1 ? entries_.begin() : entries_.find(name);
  if (found != entries_.end()) return found->second.model;
  std::string names;
  for (const auto& [known, entry] : entries_) names += (names.empty() ? "" : ", ") + known;
  if (name.empty()) throw HttpError(400, "missing_model", "model: expected one of " + names + ", got nothing", "model");
  throw HttpError(404, "model_not_found", "there is no model \"" + name + "\"; there is " + names, "model");
}

std::vector<std::shared_ptr<const ServedModel>> Models::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const ServedModel>> models;
  for (const auto& [name, entry] : entries_) models.push_back(entry.model);
  return models;
}

Json Models::reload() {
  const std::lock_guard one_at_a_time(reloading_);
  Json reloaded = Json::array(), errors = Json::object();
  for (auto& [name, entry] : entries_) {  // only this function changes entries, so reading them needs no lock
    std::string error;
    std::shared_ptr<const ServedModel> model;  // the earlier model, after the swap: its threads end without the lock
    std::string files;
    try {
      files = files_of(entry.folder);
      if (files != entry.files)
        model = std::make_shared<const ServedModel>(name, entry.folder, settings_, metrics_, memory_);
    } catch (const std::exception& failure) {
      error = failure.what();
      errors[name] = error;
    }
    if (model != nullptr) reloaded.push_back(name);
    const std::lock_guard lock(mutex_);
    entry.error = error;
    if (model == nullptr) continue;
    entry.files = files;
    entry.model.swap(model);
  }
  return {{"reloaded", reloaded}, {"errors", errors}};
}

Json Models::state() const {
  const std::lock_guard lock(mutex_);
  Json all = Json::array();
  for (const auto& [name, entry] : entries_) {
    const weft::Checkpoint& checkpoint = entry.model->checkpoint();
    Json state = {{"name", name},
                  {"task", weft::task_name(checkpoint.model->task())},
                  {"step", checkpoint.info.step},
                  {"error", nullptr}};
    if (!entry.error.empty()) state["error"] = entry.error;
    all.push_back(state);
  }
  return all;
}

}  // namespace serve
