/// \file
/// Checkpoints: a folder with model.safetensors, whose metadata hold all that is needed to load it, and config.json,
/// the same metadata for people to read.
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

/// What is known of a model besides itself.
struct CheckpointInfo {
  std::int64_t step = 0;                       ///< of training
  std::optional<double> validation_loss = {};  ///< nats, at that step
  std::int64_t length = 0;                     ///< of the sequences it was trained on; of a classifier: the longest
  std::vector<std::string> labels = {};        ///< classifiers: what each output is; none: "1", "2", …
  std::int64_t pad_to = 0;                     ///< the length that rows are filled up to with padding; 0: their own
  std::string form = {};                       ///< "huggingface-fnet", …: whose it is; empty: weft's own
  std::vector<std::string> notes = {};         ///< what of another program's checkpoint was left out, for people
};

/// What load_checkpoint gives.
struct Checkpoint {
  std::unique_ptr<Model> model;                ///< never null
  std::shared_ptr<const Tokenizer> tokenizer;  ///< of its input; never null
  CheckpointInfo info;                         ///< as it was saved
};

/// Writes each file beside the old one, syncs and renames it: whenever it stops, the folder holds a checkpoint that
/// loads, the old or the new one. The folder is made if it is missing. Error, with nothing written, if a parameter is
/// not finite, the tokenizer has another size than the model's vocabulary, or a classifier's labels are not as many as
/// its outputs, each another.
void save_checkpoint(const std::string& folder, const Model& model, const Tokenizer& tokenizer,
                     const CheckpointInfo& info = {});

/// What a model is loaded for.
enum class Purpose {
  training,  ///< all that a model can do: its parameters are memory of its own, to be written, trained and saved
  /// Forward passes and generation. A parameter stays where it lies, in the file, which is mapped; the weight of a Linear
  /// is packed when it is used again, layer by layer, and the file's memory given back: each weight is in memory once,
  /// packed or as it lies. What isn't f32 or isn't aligned is copied, and not packed. To write, train or
  /// save such a model is an Error. The file may be replaced or removed meanwhile (as save_checkpoint does), but not be
  /// cut or written in place: what reads a part that is gone gets SIGBUS, which ends the process. LoadOptions::copy has no
  /// such limit.
  inference,
};

/// How load_checkpoint loads.
struct LoadOptions {
  LoadOptions() = default;
  /// A purpose alone is a LoadOptions, too: load_checkpoint(folder, Purpose::inference).
  LoadOptions(Purpose what_for) : purpose(what_for) {}

  Purpose purpose = Purpose::training;  ///< either gives the same bits
  /// For inference, too, the weights are in memory of the model's own: whatever happens to the file later, the model stays as it
  /// is. For programs that run for long, where others may write the file. The whole file is read first, and no weight is packed,
  /// as it would be there twice: products of many rows are some percent slower.
  bool copy = false;
  std::optional<Task> task = {};  ///< of another program's checkpoint that doesn't say (weft/checkpoint_form.h)
};

/// From a checkpoint's folder, or from a run's, see checkpoint_folder; or from another program's, see
/// weft/checkpoint_form.h.
/// Any architecture and tokenizer that is registered by then, see weft/architecture.h and weft/tokenizer.h. It makes the
/// model of Init::shapes_only, whose parameters are then given their values. These have the dtype of Init{}, f32.
/// Error, naming the file, if it is missing, damaged or none of weft's, if tensors and config don't agree, or if
/// config.json is of another model.
Checkpoint load_checkpoint(const std::string& folder, const LoadOptions& options = {});

/// From the bytes of a model.safetensors. For inference the parameters stay where they lie if the bytes have an owner,
/// which the model keeps; else they are copied. Unless the bytes are a mapped file's, no weight is packed, as it would be
/// there twice: products of many rows are some percent slower.
Checkpoint load_checkpoint(const Bytes& bytes, const LoadOptions& options = {});

/// Writes the parameters of `from` to those of `to` that have their names: to go on with a trained model, also with
/// another head. Gives the names of the others of `to`, which stay as they are: those that `from` doesn't have, or that
/// have other outputs there. Error, with nothing written, if a shape differs otherwise, or if there is nothing to write.
std::vector<std::string> copy_parameters(const Model& from, const Model& to);

/// The same for a classifier whose outputs are `labels`: those that the checkpoint knows keep what it has of them (weights
/// and bias of the head), by their names and in any order; others stay as they are. The head is among the names that are
/// given unless it has a label of the checkpoint. Error besides if the labels are not as many as the outputs of `to`.
std::vector<std::string> copy_parameters(const Checkpoint& from, const Model& to,
                                         const std::vector<std::string>& labels);

/// What makes two models interchangeable: architecture, task, sizes and tokenizer, as JSON.
std::string model_description(const Model& model, const Tokenizer& tokenizer);

}  // namespace weft
#pragma GCC visibility pop
