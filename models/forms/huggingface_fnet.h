// What reading and writing Hugging Face's FNet share: https://github.com/huggingface/transformers, models/fnet.
#pragma once
#include <string>
#include <vector>

#include "forms/name_table.h"
#include "weft/checkpoint.h"
#include "weft/fnet.h"
#include "weft/tokenizer.h"

namespace weft::detail::huggingface {

// A class of models there, and what it is here.
struct FnetKind {
  const char* architecture;  // in config.json
  Task task;
  FnetHead head;
  const char* head_prefix;  // of tensors that tell it from the others; ours of a classifier
};
inline constexpr FnetKind kinds[] = {
    {"FNetForPreTraining", Task::masked_lm, FnetHead::next_sentence, "cls.seq_relationship."},
    {"FNetForMaskedLM", Task::masked_lm, FnetHead::pooler, "cls.predictions."},
    {"FNetForNextSentencePrediction", Task::classifier, FnetHead::next_sentence, "cls.seq_relationship."},
    {"FNetForSequenceClassification", Task::classifier, FnetHead::task, "classifier."},
    {"FNetModel", Task::classifier, FnetHead::pooler, ""},
};

inline const char* const base_prefix = "fnet.";  // of all but the heads, unless the model is the base alone

// Names without base_prefix. A classifier's own is the kind's head_prefix.
inline const std::vector<NamePair> names = {
    {"encoder.embeddings.word.", "embeddings.word_embeddings."},
    {"encoder.embeddings.position.", "embeddings.position_embeddings."},
    {"encoder.embeddings.type.", "embeddings.token_type_embeddings."},
    {"encoder.embeddings.norm.", "embeddings.LayerNorm."},
    {"encoder.embeddings.projection.", "embeddings.projection."},
    {"encoder.layers.*.mixing_norm.", "encoder.layer.*.fourier.output.LayerNorm."},
    {"encoder.layers.*.proj1.", "encoder.layer.*.intermediate.dense."},
    {"encoder.layers.*.proj2.", "encoder.layer.*.output.dense."},
    {"encoder.layers.*.output_norm.", "encoder.layer.*.output.LayerNorm."},
    {"pooler.", "pooler."},
    {"head.transform.", "cls.predictions.transform.dense."},
    {"head.norm.", "cls.predictions.transform.LayerNorm."},
    {"head.bias", "cls.predictions.bias"},
    {"head.bias", "cls.predictions.decoder.bias"},
    {"head.decoder.weight", "cls.predictions.decoder.weight"},
    {"next_sentence.", "cls.seq_relationship."},
};

// Of the two classes of the next sentence, in their order.
inline const std::vector<std::string> next_sentence_labels = {"follows", "random"};

// A folder's files.
inline const char* const config_name = "config.json";
inline const char* const model_name = "model.safetensors";
inline std::string config_in(const std::string& folder) { return folder + "/" + config_name; }
inline std::string model_in(const std::string& folder) { return folder + "/" + model_name; }

// The writing half; the form's functions, see weft/checkpoint_form.h.
std::vector<std::string> save_fnet(const std::string& folder, const Checkpoint& checkpoint);

}  // namespace weft::detail::huggingface
