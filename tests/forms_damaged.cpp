// Other programs' folders that are damaged or forged: an Error of one line, which names the file.
#include <doctest/doctest.h>

#include "temporary_folder.h"
#include "weft/checkpoint_form.h"

namespace weft::test {
namespace {

std::string error_of(const std::string& form, const std::string& path) {
  try {
    (void)load_checkpoint_as(form, path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("damaged forms: a file without a tensor, whatever its config.json says") {
  for (const std::string& form : checkpoint_forms())
    for (const std::string& config :
         std::vector<std::string>{"", "{}", R"({"model_type":"fnet"})", R"({"model_type":"fnet","architectures":[]})",
                                  R"({"model_type":"fnet","architectures":["FNetModel"]})"}) {
      const TemporaryFolder folder;
      save_safetensors(folder / "model.safetensors", {});
      if (!config.empty()) folder.write("config.json", config);
      CAPTURE(form);
      CAPTURE(config);
      const std::string error = error_of(form, folder / "");
      CHECK_MESSAGE(contains(error, folder / ""), error);
      CHECK(!contains(error, "\n"));
    }
  const TemporaryFolder folder;
  save_safetensors(folder / "model.safetensors", {});
  folder.write("config.json", R"({"model_type":"fnet"})");
  CHECK(contains(error_of("huggingface-fnet", folder / ""), "model.safetensors\" has no tensor"));
}

}  // namespace weft::test
