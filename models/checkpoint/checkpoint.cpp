#include "weft/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/file_set.h"
#include "base/json.h"
#include "base/names.h"
#include "base/small_file.h"
#include "checkpoint/load_parameters.h"
#include "checkpoint/load_quantized.h"
#include "checkpoint/model_card.h"
#include "data/labels.h"
#include "weft/checkpoint_format.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"
#include "weft/os.h"
#include "weft/quantize.h"
#include "weft/run_folder.h"
#include "weft/safetensors.h"
#include "weft/update_rules.h"

namespace weft {
using namespace detail;

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int format_version = 1;
const char* const metadata_key = "weft";

std::string model_path(const std::string& folder) { return folder + "/model.safetensors"; }
std::string config_path(const std::string& folder) { return folder + "/config.json"; }

// Throws an Error unless a checkpoint can hold the model's config.
ordered_json config_of(const Model& model) {
  const std::string text = model.config();
  if (!parse_json(text).is_object())
    throw Error(std::string("[checkpoint] expected config() of ") + model.arch() + " to be a JSON object, got \"" +
                text.substr(0, 200) + "\"");
  return ordered_json::parse(text);
}

// Whether the model's outputs have their own names, rather than being the symbols of the vocabulary.
bool has_labels(const Model& model) { return task_kind(model.task()).outputs != OutputShape::symbols; }

ordered_json describe(const Model& model, const Tokenizer& tokenizer) {
  ordered_json description;
  description["arch"] = model.arch();
  description["task"] = task_name(model.task());
  description["classes"] = has_labels(model) ? model.outputs() : 0;
  description["config"] = config_of(model);
  if (const InputSpec input = model.input(); input.defined())
    description["input"] = ordered_json::parse(input_to_json(input));
  if (const OutputSpec output = model.output(); output.defined())
    description["output"] = {{"mean", output.mean}, {"deviation", output.deviation}};
  description["vocabulary"] = ordered_json::parse(tokenizer.to_json());
  return description;
}

// Compares only the fields that identify a model. The step and the validation loss change during training.
bool same_model(const json& a, const json& b) {
  for (const char* key : {"arch", "task", "classes", "config", "vocabulary"})
    if (!a.contains(key) || !b.contains(key) || a.at(key) != b.at(key)) return false;
  const auto same = [&](const char* key) { return a.value(key, json()) == b.value(key, json()); };
  return same("labels") && same("input") && same("output");
}

void check_labels(const std::vector<std::string>& labels, std::int64_t outputs) {
  const auto are_distinct = [&] {
    return std::ssize(std::set<std::string_view>(labels.begin(), labels.end())) == std::ssize(labels);
  };
  if (std::ssize(labels) != outputs || !are_distinct())
    throw Error("[checkpoint] expected " + std::to_string(outputs) + " distinct labels, got " +
                std::to_string(labels.size()));
}

// Adds the metadata of a model with labels. Language models have no labels.
void describe_labels(const Model& model, const CheckpointInfo& info, ordered_json& metadata) {
  if (!has_labels(model)) return;
  const auto labels = info.labels.empty() ? numbered_labels(model.outputs()) : info.labels;
  check_labels(labels, model.outputs());
  metadata["labels"] = labels;
  metadata["pad_to"] = info.pad_to;
  if (info.pairs) metadata["pairs"] = true;
}

// Checkpoints of earlier versions lack these fields. Their labels were numbers, and their rows were padded to `length`.
void read_labels(const json& metadata, const Model& model, CheckpointInfo& info) {
  if (!has_labels(model)) return;
  info.labels = metadata.contains("labels") ? metadata.at("labels").get<std::vector<std::string>>()
                                            : numbered_labels(model.outputs());
  check_labels(info.labels, model.outputs());
  info.pad_to = info.length;
  if (metadata.contains("pad_to")) read_field("checkpoint", "pad_to", metadata.at("pad_to"), info.pad_to);
  if (metadata.contains("pairs")) info.pairs = metadata.at("pairs").get<bool>();
  if (info.pad_to < 0) throw Error("[checkpoint] expected pad_to of at least 0, got " + std::to_string(info.pad_to));
}

// Returns the content of config.json: null if the file doesn't exist, a discarded value if it is not JSON.
json read_config(const std::string& folder, std::uint64_t most) {
  const std::string path = config_path(folder);
  if (!std::filesystem::exists(path_of(path))) return nullptr;
  const os::MappedFile file = map_small_file(path, most);
  try {
    return parse_json({reinterpret_cast<const char*>(file.data), static_cast<std::size_t>(file.size)});
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

// Whether the folder's config.json may stay next to a model with this metadata. A damaged config.json may not.
bool config_is_of(const std::string& folder, const json& metadata) {
  try {
    const json config = read_config(folder, most_of_own_config);
    return config.is_null() || same_model(config, metadata);
  } catch (const Error&) {
    return false;
  }
}

// Whether another program wrote the folder's model. That program needs the other files in the folder.
bool is_anothers(const std::string& folder) {
  try {
    return std::filesystem::exists(path_of(model_path(folder))) &&
           SafetensorsFile(model_path(folder)).metadata().count(metadata_key) == 0;
  } catch (const Error&) {
    return false;
  }
}

void check_writable(const NamedParameters& parameters) {
  for (const auto& [name, parameter] : parameters)
    if (!parameter.writable() && !parameter.quantized())
      throw Error(
          "[checkpoint] the model was loaded for inference. To save it, load it for training (LoadOptions, "
          "Purpose::training); to duplicate it, copy its folder. Nothing was written");
}

void check_finite(const NamedParameters& parameters) {
  for (const auto& [name, parameter] : parameters) {
    const Tensor& numbers = parameter.scales().defined() ? parameter.scales() : parameter.value();
    if (!std::isfinite(l2_norm(reshape(raw::contiguous(numbers), {-1}))))
      throw Error("[checkpoint] parameter " + name + " is not finite; nothing was written");
  }
}

json read_metadata(const SafetensorsFile& file) {
  const auto found = file.metadata().find(metadata_key);
  if (found == file.metadata().end())
    throw Error("\"" + file.path() +
                "\" is not a checkpoint in weft's format, and together with its config.json it has none of the other "
                "formats that " +
                "weft recognizes (" + join(checkpoint_formats()) + ")");
  const json metadata = parse_json(found->second);
  if (metadata.at("version") != format_version)
    throw Error("\"" + file.path() + "\" has format version " + metadata.at("version").dump() +
                ", but this weft reads format version " + std::to_string(format_version));
  return metadata;
}

Checkpoint load_from(const SafetensorsFile& file, const json& metadata, Purpose purpose) {
  Checkpoint checkpoint;
  checkpoint.tokenizer = tokenizer_from_json(metadata.at("vocabulary").dump());
  ModelSpec spec;
  spec.arch = metadata.at("arch");
  spec.task = task_from_name(metadata.at("task"));
  spec.vocabulary = checkpoint.tokenizer->size();
  read_field("checkpoint", "classes", metadata.at("classes"), spec.classes);
  spec.config = metadata.at("config").dump();
  if (metadata.contains("output"))
    spec.output = {metadata.at("output").at("mean"), metadata.at("output").at("deviation")};
  if (metadata.contains("input")) spec.input = input_from_json(metadata.at("input").dump());
  read_field("checkpoint", "step", metadata.at("step"), checkpoint.info.step);
  read_field("checkpoint", "length", metadata.at("length"), checkpoint.info.length);
  if (checkpoint.info.step < 0 || checkpoint.info.length < 0)
    throw Error("[checkpoint] expected a step and a length of at least 0, got " + std::to_string(checkpoint.info.step) +
                " and " + std::to_string(checkpoint.info.length));
  if (!metadata.at("validation_loss").is_null()) checkpoint.info.validation_loss = metadata.at("validation_loss");
  if (metadata.contains("card")) checkpoint.info.card = card_from_json(metadata.at("card"));
  std::optional<Quantization> quantized;
  if (metadata.contains("quantized")) quantized = quantization_from_name(metadata.at("quantized"));
  ParameterBudget budget = contents(file);  // a config that asks for more than the file holds is an Error
  if (quantized == Quantization::int4) budget.elements *= 2;  // a byte holds two elements
  Init init;
  init.budget = &budget;
  init.shapes_only = true;
  checkpoint.model = make_model(spec, init);
  if (quantized && purpose == Purpose::training)
    throw Error(std::string("[checkpoint] the model is quantized to ") + quantization_name(*quantized) +
                " and can only be used for inference (Purpose::inference). Train the original checkpoint, then "
                "quantize it again");
  if (quantized) load_quantized(file, *checkpoint.model, *quantized);
  else load_parameters(*checkpoint.model, file, {}, {purpose, false});
  read_labels(metadata, *checkpoint.model, checkpoint.info);
  return checkpoint;
}

// Loads the checkpoint after calling `check` with the metadata.
template <class Check>
Checkpoint load_checked(const SafetensorsFile& file, const LoadOptions& options, Check check) {
  const std::string name = "\"" + file.path() + "\"";
  try {
    const json metadata = read_metadata(file);
    check(metadata);
    return load_from(file, metadata, options.purpose);
  } catch (const json::exception& error) {
    throw Error(name + ": the metadata are damaged: " + error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.find(name) == std::string::npos ? name + ": " + message : message);
  }
}

}  // namespace

std::string model_description(const Model& model, const Tokenizer& tokenizer) {
  return describe(model, tokenizer).dump();
}

void save_checkpoint(const std::string& folder, const Model& model, const Tokenizer& tokenizer,
                     const CheckpointInfo& info) try {
  check_folder_name(folder);
  if (tokenizer.size() != model.vocabulary())
    throw Error("[checkpoint] expected a tokenizer with " + std::to_string(model.vocabulary()) +
                " symbols, as many as the model has, got one with " + std::to_string(tokenizer.size()) +
                "; nothing was written");
  const NamedParameters parameters = model.parameters();
  check_writable(parameters);
  check_finite(parameters);
  ordered_json metadata{{"version", format_version}};
  metadata.update(describe(model, tokenizer));
  describe_labels(model, info, metadata);
  if (model.precision() != Precision::f32)
    metadata["precision"] = precision_name(model.precision());  // for human readers; loading ignores it
  if (const auto to = quantized_to(parameters)) metadata["quantized"] = quantization_name(*to);
  metadata["length"] = info.length;
  metadata["step"] = info.step;
  metadata["validation_loss"] = info.validation_loss ? ordered_json(*info.validation_loss) : ordered_json(nullptr);
  if (const ordered_json card = card_to_json(info.card); !card.empty()) metadata["card"] = card;

  const os::FolderTurn turn = turn_at(folder);
  FileSet files(folder, is_anothers(folder) ? Places::together : Places::in_turn);
  if (!config_is_of(folder, metadata)) files.remove("config.json");  // a checkpoint without config.json can be loaded
  files.write("model.safetensors", stored_tensors(parameters), {{metadata_key, metadata.dump()}});
  if (const std::string text = metadata.dump(2) + "\n"; text.size() <= most_of_own_config)
    files.write("config.json", text);
  else files.remove("config.json");
  files.commit();
} catch (const std::bad_alloc&) {
  fail_out_of_memory("checkpoint");
} catch (const std::filesystem::filesystem_error& error) {
  throw Error("[checkpoint] can't write \"" + folder + "\": " + error.code().message());
} catch (const json::exception& error) {
  throw Error("[checkpoint] can't write \"" + folder + "\": " + error.what());
}

Checkpoint load_checkpoint(const std::string& given, const LoadOptions& options) try {
  check_folder_name(given);
  const std::string folder = checkpoint_folder(given);
  std::optional<SafetensorsFile> opened;
  if (std::filesystem::exists(path_of(model_path(folder)))) opened.emplace(model_path(folder));
  if (!opened || opened->metadata().count(metadata_key) == 0)
    if (const std::string format = find_checkpoint_format(folder); !format.empty() && format != metadata_key)
      return load_checkpoint_as(format, folder, options);
  if (opened && opening(options) != Load::map) opened.reset();
  const SafetensorsFile file = opened ? *opened : SafetensorsFile(model_path(folder), opening(options));
  const bool is_own = file.metadata().count(metadata_key) > 0;
  const json config = read_config(folder, is_own ? most_of_own_config : most_of_config);
  if (!config.is_null() && !config.is_object())
    throw Error("\"" + config_path(folder) + "\" is damaged: it is not a JSON object");
  return load_checked(file, options, [&](const json& metadata) {
    if (!config.is_null() && !same_model(config, metadata))
      throw Error("\"" + config_path(folder) + "\" belongs to a different model than \"" + file.path() + "\"");
  });
} catch (const std::bad_alloc&) {
  fail_out_of_memory("checkpoint");
} catch (const std::filesystem::filesystem_error& error) {
  throw Error("[checkpoint] can't read \"" + given + "\": " + error.code().message());
}

Checkpoint load_checkpoint(const Bytes& bytes, const LoadOptions& options) try {
  const Bytes lent{bytes.data, bytes.size, nullptr, false};  // has no owner, so loaded values are copied
  return load_checked(SafetensorsFile(options.copy ? lent : bytes), options, [](const json&) {});
} catch (const std::bad_alloc&) {
  fail_out_of_memory("checkpoint");
}

}  // namespace weft
