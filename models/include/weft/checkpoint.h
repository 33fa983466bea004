/// \file
/// Checkpoints. A checkpoint is a folder with model.safetensors and config.json. The metadata in model.safetensors
/// contain everything that is needed to load it. config.json contains the same metadata for people to read.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/safetensors.h"
#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// What is known about a model besides its parameters.
struct CheckpointInfo {
  std::int64_t step = 0;                       ///< number of training steps
  std::optional<double> validation_loss = {};  ///< at that step, in nats
  std::int64_t length = 0;                     ///< length of the training sequences; for a classifier the longest
  std::vector<std::string> labels = {};        ///< for tasks on rows: the name of each output; if empty: "1", "2", …
  std::int64_t pad_to = 0;                     ///< the length that rows are padded to; 0: rows are not padded
  bool pairs = false;                          ///< whether each row is a pair of texts (text_pair)
  std::string form = {};                       ///< the checkpoint's format: "huggingface-fnet", …; empty: weft's own
  /// What the reader left out of another program's checkpoint, for people to read.
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
/// folder holds a checkpoint that loads: the old one or the new one. If the folder is missing, the function makes it.
/// In these cases it throws an Error and writes nothing: a parameter is not finite; the size of the tokenizer differs
/// from the model's vocabulary; a classifier's labels are not distinct, or their number differs from the number of
/// outputs.
void save_checkpoint(const std::string& folder, const Model& model, const Tokenizer& tokenizer,
                     const CheckpointInfo& info = {});

/// The purpose for which a model is loaded.
enum class Purpose {
  training,  ///< everything that a model can do: it owns its parameters, which you can write, train and save
  /// Forward passes and generation. The parameters stay in the file, which is mapped. When a Linear uses its weight
  /// repeatedly, the layer packs the weight and releases the memory of the file, layer by layer. So memory holds each
  /// weight once, either packed or in the file. A tensor that is not f32 or not aligned is copied, and is not packed.
  /// Writing, training or saving such a model is an Error. Other programs may replace or remove the file meanwhile, as
  /// save_checkpoint does. They must not truncate it or write to it in place: reading a part that is gone raises
  /// SIGBUS, which ends the process. LoadOptions::copy removes this restriction.
  inference,
};

/// Options of load_checkpoint.
struct LoadOptions {
  LoadOptions() = default;
  /// A Purpose converts to LoadOptions: load_checkpoint(folder, Purpose::inference).
  LoadOptions(Purpose what_for) : purpose(what_for) {}

  Purpose purpose = Purpose::training;  ///< both purposes give the same bits
  /// The model owns its weights even for inference, so later changes of the file don't affect it. This is for programs
  /// that run for a long time while others may write the file. The whole file is read first. Weights are not packed,
  /// because each would then be in memory twice. So products with many rows are a few percent slower.
  bool copy = false;
  /// The task of another program's checkpoint that doesn't state it (weft/checkpoint_form.h).
  std::optional<Task> task = {};
};

/// Loads a checkpoint from its own folder, from the folder of a run (see checkpoint_folder), or from another program's
/// files (see weft/checkpoint_form.h). It supports every architecture and tokenizer that is registered before the call
/// (weft/architecture.h, weft/tokenizer.h). It makes the model with Init::shapes_only and then sets the values of the
/// parameters, in f32, the default dtype of Init. Throws an Error that names the file if the file is missing, damaged
/// or not weft's, if the tensors and the config don't match, or if config.json belongs to another model.
Checkpoint load_checkpoint(const std::string& folder, const LoadOptions& options = {});

/// Loads a checkpoint from the bytes of a model.safetensors. For inference, the parameters stay in these bytes if the
/// bytes have an owner, which the model then keeps. Otherwise they are copied. Unless the bytes belong to a mapped
/// file, weights are not packed, because each would then be in memory twice. So products with many rows are a few
/// percent slower.
Checkpoint load_checkpoint(const Bytes& bytes, const LoadOptions& options = {});

/// Copies the parameters of `from` to the parameters of `to` with the same names. Use it to continue with a trained
/// model, possibly with another head. Returns the names of the parameters of `to` that keep their values: those that
/// `from` doesn't have, or whose number of outputs differs in `from`. If any other size differs, or if there is nothing
/// to copy, it throws an Error and writes nothing.
std::vector<std::string> copy_parameters(const Model& from, const Model& to);

/// The same for a classifier whose outputs are `labels`. If the checkpoint has a label of the same name, at any index,
/// the function also copies that label's rows of the head's weight and bias. The rows of other labels in `to` don't
/// change. The returned names include the head unless at least one of its labels is in the checkpoint. It is also an
/// Error if the number of labels differs from the number of outputs of `to`.
std::vector<std::string> copy_parameters(const Checkpoint& from, const Model& to,
                                         const std::vector<std::string>& labels);

/// The properties that two interchangeable models have in common: architecture, task, sizes and tokenizer, as JSON.
std::string model_description(const Model& model, const Tokenizer& tokenizer);

}  // namespace weft
#pragma GCC visibility pop
