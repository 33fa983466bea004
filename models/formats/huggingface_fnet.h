// Used for reading and writing Hugging Face's FNet (https://github.com/huggingface/transformers, models/fnet).
#pragma once
#include <string>
#include <vector>

#include "formats/name_table.h"
#include "weft/checkpoint.h"
#include "weft/fnet.h"
#include "weft/tokenizer.h"

namespace weft::detail::huggingface {

// A model class of transformers and its equivalent in weft.
struct FnetKind {
  const char* architecture;  // in config.json
  Task task;
  FnetHead head;
  const char* head_prefix;  // of the names of the tensors that identify the class; for a classifier, those of its head
};
inline constexpr FnetKind kinds[] = {
    {"FNetForPreTraining", Task::masked_lm, FnetHead::next_sentence, "cls.seq_relationship."},
    {"FNetForMaskedLM", Task::masked_lm, FnetHead::pooler, "cls.predictions."},
    {"FNetForNextSentencePrediction", Task::classifier, FnetHead::next_sentence, "cls.seq_relationship."},
    {"FNetForSequenceClassification", Task::classifier, FnetHead::task, "classifier."},
    {"FNetModel", Task::classifier, FnetHead::pooler, ""},
};

// Precedes the names of all tensors except those of heads. It is missing if the model is only the base.
inline const char* const base_prefix = "fnet.";

// The names without base_prefix. The names of a classifier's head begin with head_prefix instead.
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

// The names of the two classes of next-sentence prediction, in order.
inline const std::vector<std::string> next_sentence_labels = {"follows", "random"};

// The files of the format.
inline const char* const config_name = "config.json";
inline const char* const model_name = "model.safetensors";
inline std::string config_in(const std::string& folder) { return folder + "/" + config_name; }
inline std::string model_in(const std::string& folder) { return folder + "/" + model_name; }

// The function that writes the format, see weft/checkpoint_format.h.
std::vector<std::string> save_fnet(const std::string& folder, const Checkpoint& checkpoint);

}  // namespace weft::detail::huggingface
