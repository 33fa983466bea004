/// \file
/// Checkpoints. A checkpoint is a folder with model.safetensors and config.json. The metadata of model.safetensors hold
/// everything that is needed to load it. config.json holds the same metadata for people to read.
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
  std::int64_t step = 0;                       ///< training steps
  std::optional<double> validation_loss = {};  ///< nats, at that step
  std::int64_t length = 0;                     ///< length of the training sequences; for a classifier the longest
  std::vector<std::string> labels = {};        ///< rows: the name of each output; if empty: "1", "2", …
  std::int64_t pad_to = 0;                     ///< the length that rows are padded to; 0: rows are not padded
  bool pairs = false;                          ///< whether the rows are pairs of texts (text_pair)
  std::string form = {};                       ///< "huggingface-fnet", …: its format; empty: weft's own
  std::vector<std::string> notes = {};         ///< what was left out of another program's checkpoint, for people
};

/// The result of load_checkpoint.
struct Checkpoint {
  std::unique_ptr<Model> model;                ///< never null
  std::shared_ptr<const Tokenizer> tokenizer;  ///< for the model's input; never null, but perhaps no_tokenizer()
  CheckpointInfo info;                         ///< as saved
};

/// Writes each file beside the old one, syncs it and renames it. Whenever the process stops, the folder therefore holds
/// a checkpoint that loads: the old one or the new one. A missing folder is made. In these cases the function throws an
/// Error and writes nothing: a parameter is not finite; the size of the tokenizer differs from the model's vocabulary;
/// a classifier's labels are not distinct, or their number is not that of its outputs.
void save_checkpoint(const std::string& folder, const Model& model, const Tokenizer& tokenizer,
                     const CheckpointInfo& info = {});

/// What a model is loaded for.
enum class Purpose {
  training,  ///< everything that a model can do: it owns its parameters, which can be written, trained and saved
  /// Forward passes and generation. The parameters stay in the file, which is mapped. When the weight of a Linear is
  /// used again, the layer packs it and gives the file's memory back, layer by layer. So each weight is in memory once,
  /// either packed or in the file. A tensor that is not f32 or not aligned is copied, and is not packed. Writing,
  /// training or saving such a model is an Error. The file may be replaced or removed meanwhile, as save_checkpoint
  /// does, but it must not be truncated or written in place: reading a part that is gone raises SIGBUS, which ends the
  /// process. LoadOptions::copy has no such limit.
  inference,
};

/// Options of load_checkpoint.
struct LoadOptions {
  LoadOptions() = default;
  /// A Purpose converts to LoadOptions: load_checkpoint(folder, Purpose::inference).
  LoadOptions(Purpose what_for) : purpose(what_for) {}

  Purpose purpose = Purpose::training;  ///< both give the same bits
  /// The model owns its weights for inference, too, so nothing that happens to the file later affects it. This is for
  /// programs that run for a long time while others may write the file. The whole file is read first. Weights are not
  /// packed, because each would then be in memory twice; products with many rows are a few percent slower.
  bool copy = false;
  std::optional<Task> task = {};  ///< for another program's checkpoint that doesn't state it (weft/checkpoint_form.h)
};

/// Loads a checkpoint from its own folder, or from a run's folder (see checkpoint_folder), or from another program's
/// files (see weft/checkpoint_form.h). It takes every architecture and tokenizer that is registered by then
/// (weft/architecture.h, weft/tokenizer.h). It makes the model with Init::shapes_only and then gives the parameters
/// their values, in the dtype of Init{}, f32. Throws an Error that names the file if the file is missing, damaged or
/// not weft's, if tensors and config don't agree, or if config.json belongs to another model.
Checkpoint load_checkpoint(const std::string& folder, const LoadOptions& options = {});

/// Loads a checkpoint from the bytes of a model.safetensors. For inference the parameters stay in these bytes if the
/// bytes have an owner, which the model keeps; otherwise they are copied. Unless the bytes are those of a mapped file,
/// weights are not packed, because each would then be in memory twice; products with many rows are a few percent
/// slower.
Checkpoint load_checkpoint(const Bytes& bytes, const LoadOptions& options = {});

/// Copies the parameters of `from` to the parameters of `to` with the same names, to continue with a trained model,
/// also with another head. Returns the names of the parameters of `to` that stay as they are: those that `from` doesn't
/// have, or that have another number of outputs there. If any other shape differs, or if there is nothing to copy, it
/// throws an Error and writes nothing.
std::vector<std::string> copy_parameters(const Model& from, const Model& to);

/// The same for a classifier whose outputs are `labels`. Labels that the checkpoint knows, by name and in any order,
/// keep their rows of the head's weight and bias; the others stay as they are. The head is among the returned names
/// unless at least one of its labels is in the checkpoint. It is also an Error if the number of labels is not the
/// number of outputs of `to`.
std::vector<std::string> copy_parameters(const Checkpoint& from, const Model& to,
                                         const std::vector<std::string>& labels);

/// The properties that make two models interchangeable: architecture, task, sizes and tokenizer, as JSON.
std::string model_description(const Model& model, const Tokenizer& tokenizer);

}  // namespace weft
#pragma GCC visibility pop
