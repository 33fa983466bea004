// The state from which training resumes. The input: a byte that changes a tensor, then changes of the metadata as a
// JSON merge patch (RFC 7386). If the patch is not JSON, it replaces the metadata.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "safetensors_bytes.h"
#include "target.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/safetensors.h"

namespace {

using nlohmann::json;

// A small run after one step.
struct SmallRun {
  TemporaryFolder folder;
  weft::test::SmallTask task = weft::test::small_task("gmlp", weft::Task::causal_lm, {4, 4, 2});
  weft::Trainer trainer{*task.model, *task.data, weft::test::small_options(5)};
  std::vector<std::pair<std::string, weft::Tensor>> tensors;
  json metadata;

  SmallRun() {
    (void)trainer.step();
    trainer.save_state(folder / "saved");
    const weft::SafetensorsFile file(folder / "saved");
    for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, weft::Load::copy));
    metadata = json::parse(file.metadata().at("weft-training"));
  }
};

std::string metadata_of(const json& saved, const std::string& patch) {
  const json parsed = json::parse(patch, nullptr, false);
  if (parsed.is_discarded()) return patch;
  json changed = saved;
  changed.merge_patch(parsed);
  return changed.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns a state file. `change` says which tensor is changed, and how.
std::string state_of(const SmallRun& run, unsigned char change, const std::string& metadata) {
  json header{{"__metadata__", {{"weft-training", metadata}}}};
  std::string bytes;
  for (std::size_t k = 0; k < run.tensors.size(); ++k) {
    const auto& [name, tensor] = run.tensors[k];
    std::vector<std::int64_t> shape = tensor.shape();
    std::string values(static_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.numel()) * 4);
    const char* type = "F32";
    if (change / 5 % run.tensors.size() == k) {
      if (change % 5 == 1) continue;
      if (change % 5 == 2) shape.push_back(1);
      if (change % 5 == 3) type = "I32";
      if (change % 5 == 4) values.assign(values.size(), '\xff');  // NaN
    }
    header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {bytes.size(), bytes.size() + values.size()}}};
    bytes += values;
  }
  return weft::test::file_of(header.dump(-1, ' ', false, json::error_handler_t::replace), bytes);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static SmallRun run;
  if (size < 1) return 0;
  run.folder.write("state", state_of(run, data[0], metadata_of(run.metadata, weft::test::text_of(data + 1, size - 1))));
  run.trainer.load_state(run.folder / "saved");
  bool is_loaded = false;
  weft::test::refuses_or_works([&] {
    run.trainer.load_state(run.folder / "state");
    is_loaded = true;
    (void)run.trainer.step();
  });
  if (!is_loaded && run.trainer.steps_done() != 1) std::abort();
  return 0;
}
