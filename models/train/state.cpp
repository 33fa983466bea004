// The training state from which a stopped run continues. It has the parameters, the optimizer's state, the step, and
// the options that must not change.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "train/weight_average.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/os.h"
#include "weft/safetensors.h"
#include "weft/trainer.h"
#include "weft/version.h"

namespace weft {
using namespace detail;

namespace {

using nlohmann::json;

const char* const metadata_key = "weft-training";

// The number of steps is left out, because a run may be extended.
json settings_of(const Model& model, const Data& data, const TrainOptions& options, const Optimizer& optimizer) {
  const Schedule& s = options.schedule;
  json settings{{"seed", options.seed},
                {"seq-len", data.length()},
                {"batch", data.batch()},
                {"micro-batches", options.micro_batches},
                {"label-smoothing", options.label_smoothing},
                {"precision", precision_name(model.precision())},
                {"schedule", s.name()},
                {"lr", s.peak},
                {"warmup", s.warmup},
                {"lr-floor", s.floor},
                {"ema", options.ema},
                {"fake-quant", options.fake_quant ? quantization_name(*options.fake_quant) : "none"},
                {"groups", json::array()}};
  settings.update(json::parse(optimizer.description()));
  return settings;
}

json describe(const Model& model, const Data& data, const TrainOptions& options, const Optimizer& optimizer) {
  json run = settings_of(model, data, options, optimizer);
  run["model"] = json::parse(model_description(model, *data.tokenizer()));
  run["data"] = data.fingerprint();
  return run;
}

using Buffers = std::vector<std::pair<std::string, Tensor>>;

Buffers buffers(Optimizer& optimizer, WeightAverage* average) {
  Buffers all{{"values", optimizer.parameters().values()}};
  if (average != nullptr) all.emplace_back("average", average->average());
  for (std::size_t k = 0; k < optimizer.states(); ++k)
    all.emplace_back("state." + std::to_string(k), optimizer.parameters().state(k));
  return all;
}

// Adds the keys that states of earlier versions lack.
json with_former_defaults(json saved) {
  saved.emplace("label-smoothing", 0.0);
  saved.emplace("ema", 0.0);
  saved.emplace("fake-quant", "none");
  saved.emplace("groups", json::array());
  saved.emplace("precision", precision_name(Precision::f32));
  saved.emplace("evaluation-due", false);  // earlier versions saved the state after the evaluation
  saved.emplace("equal-shares", true);     // each micro-batch had the same share, regardless of its number of targets
  saved.emplace("best", nullptr);
  saved.emplace("best-by", "loss");
  saved.emplace("without-better", 0);
  return saved;
}

// Throws an Error that names the difference unless both describe the same run.
void check_same(const json& saved, const json& now) {
  if (saved.at("model") != now.at("model")) throw Error("it belongs to a run with a different model or tokenizer");
  const auto check = [&](const std::string& key) {
    if (saved.at(key) != now.at(key))
      throw Error("it belongs to a run with " + key + " " + saved.at(key).dump() + "; this run has " +
                  now.at(key).dump());
  };
  check("optimizer");  // compared first, because each optimizer has its own options
  for (const auto& entry : now.items()) check(entry.key());
}

// Reads a count. Doesn't use json::get(), which would convert 2.5 to 2.
std::int64_t count_of(const json& from, const char* key) {
  constexpr std::int64_t most = 1'000'000'000'000'000;  // no run has more steps, and the next steps must not overflow
  std::int64_t count = 0;
  read_field("state", key, from.at(key), count);
  if (count < 0 || count > most) throw Error("it has " + std::string(key) + " " + std::to_string(count));
  return count;
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

// Returns weft's version, the compiler and, if it can be computed, a hash of the program's files.
std::string build_of_weft() {
  const std::string build = WEFT_VERSION " by " __VERSION__;
  try {
    BytesHash hash;
    const std::vector<std::string> files = os::program_files();
    for (const std::string& file : files) hash.add(os::read_file(file));
    return build + (files.empty() ? "" : ", files with hash " + std::to_string(hash.value()));
  } catch (const Error&) {  // a file that can't be read
    return build;
  }
}

}  // namespace

// Compares everything that could make the ranks compute different bits or make different calls.
void Trainer::check_ranks() {
  static const std::string build = build_of_weft();
  json run = describe(model_, data_, options_, optimizer_);
  std::vector<std::pair<std::string, std::string>> facts{{"build of weft", build},
                                                         {"instruction set", isa_name(Context::current().isa())},
                                                         {"number of ranks", std::to_string(ranks())}};
  for (const char* first : {"data", "precision", "optimizer"}) {  // other settings follow from these
    facts.emplace_back(first, run.at(first).dump());
    run.erase(first);
  }
  for (const auto& setting : run.items()) facts.emplace_back(setting.key(), setting.value().dump());
  facts.emplace_back("exchange", precision_name(options_.exchange));
  facts.emplace_back("number of steps", std::to_string(options_.schedule.steps));
  facts.emplace_back("d_model of the schedule", std::to_string(options_.schedule.d_model));
  check_alike(*options_.ranks, facts);
  check_same_parameters();
}

std::string Trainer::description() const {
  json run = describe(model_, data_, options_, optimizer_);
  run["model"] = json::parse(model_.config());
  run["arch"] = model_.arch();
  run["task"] = task_name(model_.task());
  run["steps"] = options_.schedule.steps;
  return run.dump(2) + "\n";
}

CheckpointInfo Trainer::checkpoint_info() const {
  CheckpointInfo info;
  info.step = step_;
  info.length = data_.length();
  info.labels = data_.labels();
  info.pad_to = data_.pad_to();
  info.pairs = data_.pairs();
  info.card.data = data_.fingerprint();
  info.card.settings = settings_of(model_, data_, options_, optimizer_).dump();
  return info;
}

void Trainer::save_state(const std::string& path) try {
  check_exact_parameters();
  json run = describe(model_, data_, options_, optimizer_);
  run["step"] = step_;
  run["evaluation-due"] = evaluation_due_;
  run["equal-shares"] = equal_shares_;
  run["best"] = best_ ? json{{"step", best_->step}, {"loss", best_->loss}, {"metric", best_->metric}} : json(nullptr);
  run["best-by"] = best_by_;
  run["without-better"] = without_better_;
  save_safetensors(path, buffers(optimizer_, average_.get()), {{metadata_key, run.dump()}});
} catch (const json::exception& error) {
  throw Error("can't write \"" + path + "\": " + error.what());
} catch (const std::bad_alloc&) {
  fail_out_of_memory("train");
}

void Trainer::load_state(const std::string& path) {
  with_ranks(options_.ranks, [&] {
    load_own_state(path);
    forget_rounding();
    if (options_.ranks != nullptr) check_same_parameters();
  });
}

void Trainer::load_own_state(const std::string& path) try {
  check_exact_parameters();
  const SafetensorsFile file(path);
  try {
    const auto found = file.metadata().find(metadata_key);
    if (found == file.metadata().end()) throw Error("it is not the state of a training run");
    const json run = with_former_defaults(parse_json(found->second));
    check_same(run, describe(model_, data_, options_, optimizer_));
    Buffers own = buffers(optimizer_, average_.get());
    const Buffers loaded = load_buffers(file, own);
    const std::int64_t step = count_of(run, "step"), without_better = count_of(run, "without-better");
    const bool due = run.at("evaluation-due"), equal_shares = run.at("equal-shares");
    std::string best_by = run.at("best-by");
    std::optional<BestEvaluation> best;
    if (const json& saved = run.at("best"); !saved.is_null())
      best = BestEvaluation{count_of(saved, "step"), saved.at("loss").get<double>(), saved.value("metric", 0.0)};
    // The following lines allocate nothing and can't fail, so the state is never partly loaded.
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Tensor& from = loaded[i].second;
      std::memcpy(own[i].second.mutable_raw(), from.raw(),
                  static_cast<std::size_t>(from.numel()) * dtype_size(from.dtype()));
    }
    step_ = step;
    evaluation_due_ = due;
    equal_shares_ = equal_shares;
    best_ = best;
    best_by_.swap(best_by);
    without_better_ = without_better;
  } catch (const json::exception& error) {
    throw Error("\"" + path + "\": the metadata are damaged: " + error.what());
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
} catch (const std::bad_alloc&) {
  fail_out_of_memory("train");
}

}  // namespace weft
