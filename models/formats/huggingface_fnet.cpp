// Reads Hugging Face's FNet: config.json and model.safetensors.
#include "formats/huggingface_fnet.h"

#include <algorithm>
#include <set>

#include "checkpoint/load_parameters.h"
#include "formats/formats.h"
#include "formats/huggingface_tokenizer.h"
#include "formats/json_file.h"
#include "weft/detail/utf8_path.h"

namespace weft::detail {
namespace {

using namespace huggingface;
using nlohmann::json;

constexpr std::int64_t usual_pad = 3;  // transformers' default

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path_of(path), ignored);
}

bool holds(const std::string& folder) {
  if (!is_there(config_in(folder))) return false;
  try {
    const json config = read_json_object(config_in(folder));
    return config.contains("model_type") && config.at("model_type") == "fnet";
  } catch (const Error&) {
    return false;
  }
}

bool begins(const std::string& name, const std::string& beginning) { return name.rfind(beginning, 0) == 0; }

std::string without_prefix(const std::string& name) {
  return begins(name, base_prefix) ? name.substr(std::string(base_prefix).size()) : name;
}

class Reader {
 public:
  Reader(const std::string& folder, const LoadOptions& options)
      : folder_(folder),
        path_(config_in(folder)),
        config_(read_json_object(path_)),
        file_(open(opening(options))),
        purpose_(options.purpose) {}

  Checkpoint read() {
    find_kind();
    read_config();
    Checkpoint made;
    made.tokenizer = tokenizer();
    if (const auto sep = made.tokenizer->special().sep; sep && fnet_.types > 1) fnet_.separator = *sep;
    read_labels();
    ParameterBudget budget = more_than_contents(file_);
    Init init;
    init.budget = &budget;
    init.shapes_only = true;
    made.model = make_model(model_spec(fnet_, kind_->task, vocabulary_, classes_), init);
    const LoadReport report = load_parameters(
        *made.model, file_, [this](const std::string& tensor) { return role_of(tensor); }, {purpose_, false});
    for (const std::string& name : report.left_out)
      notes_.push_back("the tensor " + name + " is ignored: weft computes its values, or does not need them");
    made.info.length = fnet_.seq_len;
    made.info.labels = labels_;
    made.info.format = "huggingface-fnet";
    made.info.notes = notes_;
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("\"" + path_ + "\": " + what); }

  SafetensorsFile open(Load how) const {
    if (!is_there(model_in(folder_)) && is_there(folder_ + "/pytorch_model.bin"))
      throw Error(
          "\"" + folder_ +
          "\" has its weights in pytorch_model.bin: tools/pt_to_safetensors.py converts it to model.safetensors");
    return SafetensorsFile(model_in(folder_), how);
  }

  bool has(const std::string& beginning) const {
    const std::vector<std::string> all = file_.names();
    return std::any_of(all.begin(), all.end(), [&](const std::string& name) { return begins(name, beginning); });
  }

  // Determines the kind from config.json, or from the names of the tensors if config.json does not name it.
  void find_kind() {
    if (config_.contains("architectures") && config_.at("architectures").is_array() &&
        !config_.at("architectures").empty()) {
      const json& name = config_.at("architectures").at(0);
      std::string known;
      for (const FnetKind& kind : kinds) {
        known += std::string(known.empty() ? "" : ", ") + kind.architecture;
        if (name == kind.architecture) kind_ = &kind;
      }
      if (kind_ == nullptr) fail("weft does not support " + name.dump() + ", only " + known);
      return;
    }
    for (const FnetKind& kind : kinds) {
      const bool language_model = kind.task == Task::masked_lm;
      if (kind_ == nullptr && has(kind.head_prefix) && (!language_model || has("cls.predictions."))) kind_ = &kind;
    }
    if (kind_ == nullptr) throw Error("\"" + file_.path() + "\" has no tensors");
  }

  void read_config() {
    std::string act = "gelu_new";
    bool tpu = false;
    fnet_.d_model = 768;
    fnet_.d_ffn = 3072;
    fnet_.layers = 12;
    fnet_.seq_len = 512;
    fnet_.dropout = 0.1;
    vocabulary_ = 32000;
    read_key(path_, config_, "vocab_size", vocabulary_);
    read_key(path_, config_, "hidden_size", fnet_.d_model);
    read_key(path_, config_, "num_hidden_layers", fnet_.layers);
    read_key(path_, config_, "intermediate_size", fnet_.d_ffn);
    read_key(path_, config_, "hidden_act", act);
    read_key(path_, config_, "hidden_dropout_prob", fnet_.dropout);
    read_key(path_, config_, "max_position_embeddings", fnet_.seq_len);
    read_key(path_, config_, "type_vocab_size", fnet_.types);
    read_key(path_, config_, "layer_norm_eps", fnet_.eps);
    read_key(path_, config_, "tie_word_embeddings", fnet_.tied);
    read_key(path_, config_, "use_tpu_fourier_optimizations", tpu);  // the option does not change the model's results
    if (fnet_.d_ffn < 1) fail("expected an intermediate_size of at least 1, got " + std::to_string(fnet_.d_ffn));
    try {
      fnet_.activation = activation_name(activation_from_name(act));
    } catch (const Error& error) {
      fail("hidden_act: " + std::string(error.what()));
    }
    const bool has_pooler = has("pooler.") || has(std::string(base_prefix) + "pooler.");
    const bool beside = kind_->task == Task::masked_lm;  // the masked language model doesn't use its pooler
    if (kind_->head == FnetHead::next_sentence) fnet_.head = "next-sentence";
    else if (kind_->head == FnetHead::pooler && (has_pooler || !beside)) fnet_.head = "pooler";
    if (kind_->task != Task::masked_lm) fnet_.tied = true;  // there is no decoder
  }

  void read_labels() {
    if (kind_->task != Task::classifier) return;
    if (kind_->head == FnetHead::next_sentence) labels_ = next_sentence_labels;
    else if (kind_->head == FnetHead::task) labels_ = named_labels();
    classes_ = kind_->head == FnetHead::pooler ? fnet_.d_model : std::ssize(labels_);
  }

  // Checks the number of labels before they are made, because config.json can claim any number. If the number is too
  // small, load_parameters() finds this later, as for any other wrong shape.
  void check_classes(std::int64_t count) const {
    const std::string weight = std::string(kind_->head_prefix) + "weight";
    if (!file_.contains(weight))
      fail("the architecture requires the tensor " + weight + ", which is not in model.safetensors");
    const Shape& shape = file_.shape(weight);
    if (shape.empty() || shape[0] < count)
      fail("there are " + std::to_string(count) + " labels (id2label, num_labels), but the tensor " + weight +
           " in model.safetensors has the shape " + to_string(shape));
  }

  std::vector<std::string> named_labels() const {
    std::string problem;
    read_key(path_, config_, "problem_type", problem);
    if (!problem.empty() && problem != "single_label_classification")
      fail("weft does not support the problem_type " + problem + ", only single_label_classification");
    std::int64_t count = 2;
    read_key(path_, config_, "num_labels", count);
    const bool named = config_.contains("id2label") && config_.at("id2label").is_object();
    if (named) count = std::ssize(config_.at("id2label"));
    if (count < 2 || count > 1 << 20)
      fail("weft does not support regression: expected at least 2 labels (id2label, num_labels), got " +
           std::to_string(count));
    check_classes(count);
    std::vector<std::string> labels;
    std::set<std::string> different;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string key = std::to_string(i);
      std::string label = "LABEL_" + key;
      if (named && !config_.at("id2label").contains(key))
        fail("id2label has " + std::to_string(count) + " labels, but none with the key \"" + key + "\"");
      if (named) read_key(path_, config_.at("id2label"), key.c_str(), label);
      if (!different.insert(label).second) fail("id2label has the label \"" + label + "\" twice");
      labels.push_back(label);
    }
    return labels;
  }

  std::shared_ptr<const Tokenizer> tokenizer() {
    if (auto found = read_tokenizer(folder_, vocabulary_, notes_)) return found;
    nlohmann::ordered_json ids{{"unit", "ids"}, {"size", vocabulary_}};
    std::int64_t pad = config_.contains("pad_token_id") ? -1 : usual_pad;  // if it is null, there is no padding
    read_key(path_, config_, "pad_token_id", pad);
    if (pad >= 0 && pad < vocabulary_) ids["pad"] = pad;
    notes_.push_back(
        "there is neither a spiece.model nor a tokenizer.json: write texts as token ids, separated by spaces");
    return tokenizer_from_json(ids.dump());
  }

  TensorRole role_of(const std::string& tensor) const {
    const std::string name = without_prefix(tensor);
    for (const char* made : {"embeddings.position_ids", "embeddings.token_type_ids"})
      if (name == made) return {};
    if (begins(name, "encoder.layer.") && name.find(".fourier.self.dft_mat_") != std::string::npos) return {};
    // An untied decoder reads cls.predictions.decoder.bias, but the file contains cls.predictions.bias, too.
    if (name == "cls.predictions.bias" && !fnet_.tied && has("cls.predictions.decoder.bias")) return {};
    if (name == "cls.predictions.decoder.weight" && fnet_.tied) return {"encoder.embeddings.word.weight"};
    const std::string head = kind_->head_prefix;
    if (kind_->task == Task::classifier && !head.empty() && begins(name, head))
      return {"classifier." + name.substr(head.size())};
    return {our_name(names, name).value_or(tensor)};  // an unknown tensor keeps its name and is reported as unused
  }

  std::string folder_, path_;
  json config_;
  SafetensorsFile file_;
  Purpose purpose_;
  const FnetKind* kind_ = nullptr;
  FnetConfig fnet_;
  std::int64_t vocabulary_ = 0, classes_ = 0;
  std::vector<std::string> labels_, notes_;
};

Checkpoint load(const std::string& folder, const LoadOptions& options) {
  try {
    return Reader(folder, options).read();
  } catch (const json::exception& error) {
    throw Error("\"" + config_in(folder) + "\" is damaged: " + error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.find(folder) == std::string::npos ? "\"" + config_in(folder) + "\": " + message : message);
  }
}

}  // namespace

CheckpointFormat huggingface_fnet_format() {
  return {
      "huggingface-fnet", "a folder of transformers' FNet: config.json, model.safetensors, spiece.model", holds, load,
      save_fnet,          {config_name, model_name, pieces_name, tokenizer_name, tokenizer_config_name}};
}

}  // namespace weft::detail
