// The table of checkpoint formats.
#include "weft/checkpoint_format.h"

#include "base/names.h"
#include "base/registry.h"
#include "formats/formats.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

// The table is made at the first call, so there is no static initializer that a linker could drop.
Registry<CheckpointFormat>& registry() {
  // Add new formats here.
  static Registry<CheckpointFormat> made = {
      weft_format(),          huggingface_fnet_format(), labml_gmlp_format(),  labml_fnet_format(),
      g_mlp_pytorch_format(), fairseq_tnn_format(),      tnn_pytorch_format(),
  };
  return made;
}

}  // namespace

void register_checkpoint_format(CheckpointFormat added) {
  if (added.name.empty() || (!added.load && !added.save))
    throw Error("[checkpoint] format \"" + added.name +
                "\": expected a name and a function that reads or writes the format");
  registry().add(std::move(added), [](const CheckpointFormat& format, const CheckpointFormat& known) {
    if (format.name == known.name) throw Error("[checkpoint] the name \"" + format.name + "\" is taken");
  });
}

const CheckpointFormat& checkpoint_format(const std::string& name) {
  if (const CheckpointFormat* found = registry().find(name)) return *found;
  throw Error("[checkpoint] unknown format \"" + name + "\", expected one of " + join(checkpoint_formats()));
}

std::vector<std::string> checkpoint_formats() {
  return guard_memory("checkpoint", [&] { return registry().names(); });
}

// Iterates over names instead of entries, because a format's function may use the table itself.
std::string find_checkpoint_format(const std::string& path) {
  for (const std::string& name : checkpoint_formats()) {
    const CheckpointFormat& format = checkpoint_format(name);
    if (format.holds && format.holds(path)) return name;
  }
  return "";
}

Checkpoint load_checkpoint_as(const std::string& format, const std::string& path, const LoadOptions& options) {
  const CheckpointFormat& known = checkpoint_format(format);
  check_folder_name(path);
  if (!known.load)
    throw Error("[checkpoint] checkpoints in the format \"" + format + "\" can be written, but not read");
  Checkpoint loaded = guard_memory("checkpoint", [&] { return known.load(path, options); });
  if (!loaded.model || !loaded.tokenizer)
    throw Error("[checkpoint] the format \"" + format + "\" returned no model or no tokenizer for \"" + path + "\"");
  if (options.task && loaded.model->task() != *options.task)
    throw Error("[checkpoint] \"" + path + "\" has the task " + task_name(loaded.model->task()) + ", not " +
                task_name(*options.task) + " (this format stores the task, so you can't choose it)");
  return loaded;
}

std::vector<std::string> save_checkpoint_as(const std::string& format, const std::string& path,
                                            const Checkpoint& checkpoint) {
  const CheckpointFormat& known = checkpoint_format(format);
  check_folder_name(path);
  if (!known.save)
    throw Error("[checkpoint] checkpoints in the format \"" + format + "\" can be read, but not written");
  if (checkpoint.model->input().defined() && known.name != weft_format().name)
    throw Error("[checkpoint] the format \"" + format +
                "\" supports only models that read tokens, but this model reads frames");
  return guard_memory("checkpoint", [&] { return known.save(path, checkpoint); });
}

}  // namespace weft
