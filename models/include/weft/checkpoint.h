/// \file
/// Checkpoints. A checkpoint is a folder with model.safetensors and config.json. The metadata in model.safetensors
/// contain everything that is needed to load the model. config.json contains the same metadata in readable form.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/model_card.h"
#include "weft/safetensors.h"
#include "weft/tokenizer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// What a checkpoint records about a model in addition to its parameters.
struct CheckpointInfo {
  std::int64_t step = 0;                       ///< number of training steps
  std::optional<double> validation_loss = {};  ///< the validation loss after these steps, in nats
  std::int64_t length = 0;                     ///< length of training sequences; for tasks on rows, the maximum
  std::vector<std::string> labels = {};        ///< for tasks on rows: the name of each output; if empty: "1", "2", …
  std::int64_t pad_to = 0;                     ///< the length that rows are padded to; 0: rows are not padded
  bool pairs = false;                          ///< whether each row is a pair of texts (text_pair)
  ModelCard card = {};                         ///< where the model comes from
  std::string format = {};                     ///< the checkpoint's format: "huggingface-fnet", …; empty: weft's own
  /// Readable notes on what the reader left out of another program's checkpoint.
  std::vector<std::string> notes = {};
};

/// The result of load_checkpoint.
struct Checkpoint {
  std::unique_ptr<Model> model;  ///< never null
  /// The tokenizer of the model's input; never null, but may be no_tokenizer().
  std::shared_ptr<const Tokenizer> tokenizer;
  CheckpointInfo info;  ///< what the checkpoint says about the model
};

/// Writes each file under a temporary name in the folder, syncs it and renames it. So whenever the process stops, the
/// folder holds a checkpoint that can be loaded: the old one or the new one. If the folder is missing, the function
/// makes it. Throws an Error and writes nothing if a parameter is not finite, if the tokenizer and the model differ in
/// their number of symbols, if labels are not distinct, or if the number of labels differs from the number of outputs.
void save_checkpoint(const std::string& folder, const Model& model, const Tokenizer& tokenizer,
                     const CheckpointInfo& info = {});

/// The purpose for which a model is loaded.
enum class Purpose {
  training,  ///< every use: the model owns its parameters, which you can write, train and save
  /// Forward passes and generation. The parameters stay in the file, and the file is mapped into memory. A Linear that
  /// uses its weight repeatedly packs the weight, and then releases the mapped memory of this weight. So memory holds
  /// each weight only once, either packed or mapped. A tensor that is not f32 or not aligned is copied, and is not
  /// packed. An attempt to write the parameters of such a model, or to train or save the model, throws an Error. While
  /// the model exists, other programs may replace or remove the file, as save_checkpoint does. They must not truncate
  /// the file or write to it in place, because reading a missing part raises SIGBUS, which ends the process.
  /// LoadOptions::copy removes this restriction.
  inference,
};

/// Options of load_checkpoint.
struct LoadOptions {
  LoadOptions() = default;
  /// A Purpose converts to LoadOptions: load_checkpoint(folder, Purpose::inference).
  LoadOptions(Purpose what_for) : purpose(what_for) {}

  Purpose purpose = Purpose::training;  ///< the results of a model have the same bits for both purposes
  /// Whether the model owns its weights even for inference, so that later changes of the file don't affect the model.
  /// Use it in programs that run for a long time while other programs may write the file. Loading then reads the whole
  /// file. Weights are not packed, because each weight would then be in memory twice. So products with many rows are a
  /// few percent slower.
  bool copy = false;
  /// The model's task, if another program wrote the checkpoint and did not record the task (weft/checkpoint_format.h).
  std::optional<Task> task = {};
};

/// Loads a checkpoint from its own folder, from the folder of a run (see checkpoint_folder in weft/run_folder.h), or
/// from another program's files (see weft/checkpoint_format.h). The function supports every architecture and tokenizer
/// that is registered before the call (weft/architecture.h, weft/tokenizer.h). The parameters are f32 unless the
/// checkpoint is quantized. Throws an Error that names the file if the file is missing, damaged or not a checkpoint, if
/// the tensors and the config don't match, or if config.json belongs to another model.
Checkpoint load_checkpoint(const std::string& folder, const LoadOptions& options = {});

/// Loads a checkpoint from the bytes of a model.safetensors. For inference, if Bytes::owner is set, the parameters stay
/// in these bytes and the model keeps the owner alive. Otherwise the parameters are copied. Unless the bytes belong to
/// a mapped file, weights are not packed, because each weight would then be in memory twice. So products with many rows
/// are a few percent slower.
Checkpoint load_checkpoint(const Bytes& bytes, const LoadOptions& options = {});

/// Copies the parameters of `from` to the parameters of `to` with the same names. Use it to continue with a trained
/// model, possibly with another head. Returns the names of the parameters of `to` that keep their values: those that
/// `from` doesn't have, or whose number of outputs differs in `from`. If any other size differs, or if there is nothing
/// to copy, it throws an Error and writes nothing.
std::vector<std::string> copy_parameters(const Model& from, const Model& to);

/// Does the same for a classifier whose outputs are `labels`. For each label that the checkpoint also has, at any
/// index, the function also copies the label's rows of the head's weight and bias. The rows of other labels in `to`
/// don't change. The returned names include the head's parameters unless the checkpoint has at least one of the labels.
/// The function also throws an Error if the number of labels differs from the number of outputs of `to`.
std::vector<std::string> copy_parameters(const Checkpoint& from, const Model& to,
                                         const std::vector<std::string>& labels);

/// Returns a JSON object with the architecture, task, sizes and tokenizer of a model. Interchangeable models have equal
/// descriptions.
std::string model_description(const Model& model, const Tokenizer& tokenizer);

}  // namespace weft
WEFT_PUBLIC_END
