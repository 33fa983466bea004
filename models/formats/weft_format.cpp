// weft's own format.
#include <filesystem>

#include "formats/formats.h"
#include "weft/detail/utf8_path.h"
#include "weft/run_folder.h"

namespace weft::detail {
namespace {

bool holds(const std::string& path) {
  std::error_code ignored;
  const std::string model = checkpoint_folder(path) + "/model.safetensors";
  return std::filesystem::is_regular_file(path_of(model), ignored) &&
         SafetensorsFile(model).metadata().count("weft") > 0;
}

std::vector<std::string> save(const std::string& path, const Checkpoint& checkpoint) {
  save_checkpoint(path, *checkpoint.model, *checkpoint.tokenizer, checkpoint.info);
  return {};
}

}  // namespace

CheckpointFormat weft_format() {
  return {"weft", "weft's own format, which weft train writes", holds,
          [](const std::string& path, const LoadOptions& options) { return load_checkpoint(path, options); }, save};
}

}  // namespace weft::detail
