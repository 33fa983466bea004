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

TEST_CASE("labml gMLP, FNet: a table of positions of another shape or type is an Error, not left out") {
  const TemporaryFolder folder;
  const auto error_with = [&](const std::string& of, const Tensor& positions) -> std::string {
    save_safetensors(folder / "m.safetensors", {{"src_embed.linear.weight", Tensor::zeros({7, 4})},
                                                {"src_embed.positional_encodings", positions},
                                                {"encoder.layers.0.proj1.weight", Tensor::zeros({8, 4})},
                                                {"encoder.layers.0.feed_forward.layer1.weight", Tensor::zeros({8, 4})},
                                                {"encoder.layers.0.sgu.weight", Tensor::zeros({5, 5})}});
    return error_of(of, folder / "m.safetensors");
  };
  for (const std::string of : {"labml-gmlp", "labml-fnet"}) {
    CAPTURE(of);
    const std::string expected = ", expected floats of (rows, 1, 4)";
    CHECK(contains(error_with(of, Tensor::zeros({64, 4})), "positional_encodings is F32 of (64, 4)" + expected));
    CHECK(contains(error_with(of, Tensor::zeros({64, 1, 8})), "F32 of (64, 1, 8)" + expected));
    CHECK(contains(error_with(of, Tensor::zeros({1, 64, 4})), "F32 of (1, 64, 4)" + expected));
    CHECK(contains(error_with(of, Tensor::from(std::vector<std::int64_t>(256), {64, 1, 4})), "I64 of (64, 1, 4)"));
  }
}

}  // namespace weft::test
