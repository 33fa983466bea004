// The models of the server, by name. Requests share a model, so a reload doesn't disturb the requests that use the
// earlier version.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace serve {

class Models {
 public:
  // Loads all models. Throws an Error if a checkpoint can't be loaded, or if two models have the same name.
  Models(const Settings& settings, Metrics& metrics);

  // Returns the model of that name. An empty name stands for the only model. Throws an HttpError if there is no such
  // model.
  std::shared_ptr<const ServedModel> find(const std::string& name) const;
  std::vector<std::shared_ptr<const ServedModel>> all() const;

  // Loads the checkpoints whose files have changed. If a checkpoint can't be loaded, the earlier one stays in use.
  // Returns the names of the models that were loaded, and the errors by model.
  Json reload();
  // Returns {"name": …, "task": …, "step": …, "error": …} for each model. The error is that of the last reload.
  Json state() const;

 private:
  struct Entry {
    std::string folder, files;  // `files` describes the files that were loaded
    std::string error;          // of the last reload
    std::shared_ptr<const ServedModel> model;
  };

  const Settings& settings_;
  Metrics& metrics_;
  StreamMemory memory_;
  std::mutex reloading_;  // only one reload at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace serve
