// What a stopped run goes on from: parameters, the optimizer's state and the step, with the options that must stay.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "weft/checkpoint.h"
#include "weft/safetensors.h"
#include "weft/trainer.h"

namespace weft {
using namespace detail;

namespace {

using nlohmann::json;

const char* const metadata_key = "weft-training";

// The number of steps is left out: a run may be made longer.
json describe(const Model& model, const Data& data, const TrainOptions& options, const Optimizer& optimizer) {
  const Schedule& s = options.schedule;
  json run{{"model", json::parse(model_description(model, *data.tokenizer()))},
           {"data", data.fingerprint()},
           {"seed", options.seed},
           {"seq-len", data.length()},
           {"batch", data.batch()},
           {"micro-batches", options.micro_batches},
           {"schedule", schedule_name(s.kind)},
           {"lr", s.peak},
           {"warmup", s.warmup},
           {"lr-floor", s.floor}};
  run.update(json::parse(optimizer.description()));
  return run;
}

using Buffers = std::vector<std::pair<std::string, Tensor>>;

Buffers buffers(Optimizer& optimizer) {
  Buffers all{{"values", optimizer.parameters().values()}};
  for (std::size_t k = 0; k < optimizer.states(); ++k)
    all.emplace_back("state." + std::to_string(k), optimizer.parameters().state(k));
  return all;
}

// Error, naming what differs, unless both are the same run.
void check_same(const json& saved, const json& now) {
  if (saved.at("model") != now.at("model")) throw Error("it is of a run with another model or tokenizer");
  const auto check = [&](const std::string& key) {
    if (saved.at(key) != now.at(key))
      throw Error("it is of a run with " + key + " " + saved.at(key).dump() + ", now it is " + now.at(key).dump());
  };
  check("optimizer");  // each has options of its own
  for (const auto& entry : now.items()) check(entry.key());
}

Buffers load_buffers(const SafetensorsFile& file, const Buffers& wanted) {
  Buffers loaded;
  for (const auto& [name, buffer] : wanted) {
    if (!file.contains(name)) throw Error("it has no tensor " + name);
    loaded.emplace_back(name, file.load(name));
    const Tensor& t = loaded.back().second;
    if (t.shape() != buffer.shape() || t.dtype() != buffer.dtype())
      throw Error(name + " is " + dtype_name(t.dtype()) + " " + to_string(t.shape()) + ", expected " +
                  dtype_name(buffer.dtype()) + " " + to_string(buffer.shape()));
  }
  return loaded;
}

}  // namespace

std::string state_path(const std::string& folder) { return folder + "/training.safetensors"; }

void Trainer::save_state(const std::string& path) try {
  json run = describe(model_, data_, options_, optimizer_);
  run["step"] = step_;
  save_safetensors(path, buffers(optimizer_), {{metadata_key, run.dump()}});
} catch (const json::exception& error) {
  throw Error("can't write \"" + path + "\": " + error.what());
}

void Trainer::load_state(const std::string& path) {
  const SafetensorsFile file(path);
  try {
    const auto found = file.metadata().find(metadata_key);
    if (found == file.metadata().end()) throw Error("it is not the state of a training run");
    const json run = parse_json(found->second);
    check_same(run, describe(model_, data_, options_, optimizer_));
    Buffers own = buffers(optimizer_);
    const Buffers loaded = load_buffers(file, own);
    const std::int64_t step = run.at("step");
    if (step < 0) throw Error("it has step " + std::to_string(step));
    for (std::size_t i = 0; i < own.size(); ++i) raw::copy(loaded[i].second, own[i].second);
    step_ = step;
  } catch (const json::exception& error) {
    throw Error("\"" + path + "\": its metadata are damaged: " + error.what());
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

}  // namespace weft
