// The table of checkpoint formats.
#include "weft/checkpoint_form.h"

#include "base/names.h"
#include "base/registry.h"
#include "forms/forms.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

// The table is made at the first call, so there is no static initializer that a linker could drop.
Registry<CheckpointForm>& registry() {
  // Add new formats here.
  static Registry<CheckpointForm> made = {
      weft_form(),          huggingface_fnet_form(), labml_gmlp_form(),  labml_fnet_form(),
      g_mlp_pytorch_form(), fairseq_tnn_form(),      tnn_pytorch_form(),
  };
  return made;
}

}  // namespace

void register_checkpoint_form(CheckpointForm added) {
  if (added.name.empty() || (!added.load && !added.save))
    throw Error("[checkpoint] format \"" + added.name +
                "\": expected a name and a function that reads or writes the format");
  registry().add(std::move(added), [](const CheckpointForm& form, const CheckpointForm& known) {
    if (form.name == known.name) throw Error("[checkpoint] the name \"" + form.name + "\" is taken");
  });
}

const CheckpointForm& checkpoint_form(const std::string& name) {
  if (const CheckpointForm* found = registry().find(name)) return *found;
  throw Error("[checkpoint] unknown format \"" + name + "\", expected one of " + join(checkpoint_forms()));
}

std::vector<std::string> checkpoint_forms() {
  return guard_memory("checkpoint", [&] { return registry().names(); });
}

// Iterates over names instead of entries, because a format's function may use the table itself.
std::string find_checkpoint_form(const std::string& path) {
  for (const std::string& name : checkpoint_forms()) {
    const CheckpointForm& form = checkpoint_form(name);
    if (form.holds && form.holds(path)) return name;
  }
  return "";
}

Checkpoint load_checkpoint_as(const std::string& form, const std::string& path, const LoadOptions& options) {
  const CheckpointForm& known = checkpoint_form(form);
  check_folder_name(path);
  if (!known.load) throw Error("[checkpoint] checkpoints in the format \"" + form + "\" can be written, but not read");
  Checkpoint loaded = guard_memory("checkpoint", [&] { return known.load(path, options); });
  if (!loaded.model || !loaded.tokenizer)
    throw Error("[checkpoint] the format \"" + form + "\" returned no model or no tokenizer for \"" + path + "\"");
  if (options.task && loaded.model->task() != *options.task)
    throw Error("[checkpoint] \"" + path + "\" has the task " + task_name(loaded.model->task()) + ", not " +
                task_name(*options.task) + " (this format stores the task, so you can't choose it)");
  return loaded;
}

std::vector<std::string> save_checkpoint_as(const std::string& form, const std::string& path,
                                            const Checkpoint& checkpoint) {
  const CheckpointForm& known = checkpoint_form(form);
  check_folder_name(path);
  if (!known.save) throw Error("[checkpoint] checkpoints in the format \"" + form + "\" can be read, but not written");
  if (checkpoint.model->input().defined() && known.name != weft_form().name)
    throw Error("[checkpoint] the format \"" + form +
                "\" supports only models that read tokens, but this model reads frames");
  return guard_memory("checkpoint", [&] { return known.save(path, checkpoint); });
}

}  // namespace weft
