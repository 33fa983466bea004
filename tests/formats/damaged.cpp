// Tests of damaged or forged folders of other programs. They give an Error of one line that names the file.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "contains.h"
#include "temporary_folder.h"
#include "weft/checkpoint_format.h"
#include "weft/os.h"

namespace weft::test {
namespace {

std::string error_of(const std::string& format, const std::string& path) {
  try {
    (void)load_checkpoint_as(format, path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Checkpoint classifier(std::int64_t classes) {
  Checkpoint made;
  made.model = make_model({"fnet", Task::classifier, 40, classes, R"({"d_model":8,"layers":1})"}, Init{Random(3)});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})");
  return made;
}

}  // namespace

TEST_CASE("damaged forms: a file without a tensor, whatever its config.json says") {
  for (const std::string& format : checkpoint_formats())
    for (const std::string& config :
         std::vector<std::string>{"", "{}", R"({"model_type":"fnet"})", R"({"model_type":"fnet","architectures":[]})",
                                  R"({"model_type":"fnet","architectures":["FNetModel"]})"}) {
      const TemporaryFolder folder;
      save_safetensors(folder / "model.safetensors", {});
      if (!config.empty()) folder.write("config.json", config);
      CAPTURE(format);
      CAPTURE(config);
      const std::string error = error_of(format, folder / "");
      CHECK_MESSAGE(contains(error, folder / ""), error);
      CHECK(!contains(error, "\n"));
    }
  const TemporaryFolder folder;
  save_safetensors(folder / "model.safetensors", {});
  folder.write("config.json", R"({"model_type":"fnet"})");
  CHECK(contains(error_of("huggingface-fnet", folder / ""), "model.safetensors\" has no tensors"));
}

TEST_CASE("labml gMLP, FNet: a table of positions with a wrong shape or type is an Error, not ignored") {
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
    const std::string expected = ", expected floating-point numbers of the shape (rows, 1, 4)";
    CHECK(contains(error_with(of, Tensor::zeros({64, 4})),
                   "positional_encodings is F32 of the shape (64, 4)" + expected));
    CHECK(contains(error_with(of, Tensor::zeros({64, 1, 8})), "F32 of the shape (64, 1, 8)" + expected));
    CHECK(contains(error_with(of, Tensor::zeros({1, 64, 4})), "F32 of the shape (1, 64, 4)" + expected));
    CHECK(contains(error_with(of, Tensor::from(std::vector<std::int64_t>(256), {64, 1, 4})),
                   "I64 of the shape (64, 1, 4)"));
  }
}

TEST_CASE("damaged forms: content after a zero byte in a JSON file is not ignored") {
  const TemporaryFolder folder;
  for (const std::string format : {"huggingface-fnet", "weft"}) {
    const std::string config = format + "/config.json";
    (void)save_checkpoint_as(format, folder / format, classifier(3));
    const std::string whole = folder.read(config);
    folder.write(config, whole + std::string(1, '\0') + "{\"more\":1}");
    CHECK(contains(error_of(format, folder / format), "config.json"));
    folder.write(config, whole + std::string(1, '\0'));
    CHECK(contains(error_of(format, folder / format), "config.json"));
    folder.write(config, whole);
    CHECK(error_of(format, folder / format) == "");
  }
}

TEST_CASE("damaged forms: a file that is too large is refused before it is read") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& format, const std::string& file, std::uint64_t bytes) {
    (void)save_checkpoint_as(format, folder / format, classifier(3));
    std::ofstream(folder / (format + "/" + file), std::ios::app).close();
    std::filesystem::resize_file(folder / (format + "/" + file), bytes);
    const std::string error = error_of(format, folder / format);
    std::filesystem::remove_all(folder / format);
    return error;
  };
  const std::uint64_t before = os::peak_resident_memory(), gigabyte = std::uint64_t{1} << 30;
  for (const std::string file : {"config.json", "spiece.model", "tokenizer.json"}) {
    const std::string error = with("huggingface-fnet", file, gigabyte);
    CHECK_MESSAGE(contains(error, file + "\" has 1073741824 bytes, expected at most "), error);
  }
  CHECK(contains(with("huggingface-fnet", "config.json", (4 << 20) + 1), "expected at most 4194304"));
  CHECK(contains(with("weft", "config.json", gigabyte), "has 1073741824 bytes, expected at most 16777216"));
  CHECK(contains(with("weft", "config.json", (16 << 20) + 1), "has 16777217 bytes"));
  CHECK(!contains(with("weft", "config.json", 16 << 20), "expected at most"));
  // The error message of load_checkpoint for a folder whose format is unknown.
  std::filesystem::create_directory(folder / "other");
  save_safetensors(folder / "other/model.safetensors", {{"x", Tensor::zeros({2})}});
  folder.write("other/config.json", "{\"a\":\"" + std::string(5 << 20, 'a') + "\"}");
  CHECK_THROWS_WITH_AS((void)load_checkpoint(folder / "other"), doctest::Contains("expected at most 4194304"), Error);
  CHECK(os::peak_resident_memory() - before < std::uint64_t{100} << 20);
}

TEST_CASE("damaged forms: a pipe in place of a file is an Error, and weft does not wait for it") {
  const TemporaryFolder folder;
  for (const char* file : {"config.json", "spiece.model", "tokenizer.json", "model.safetensors"}) {
    (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(3));
    const std::string path = folder / (std::string("out/") + file);
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_MESSAGE(contains(error_of("huggingface-fnet", folder / "out"), "not a regular file"), file);
    std::filesystem::remove_all(folder / "out");
  }
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(3));
  folder.write("out/spiece.model", "which is read later");
  REQUIRE(::mkfifo((folder / "out/tokenizer_config.json").c_str(), 0600) == 0);
  CHECK(contains(error_of("huggingface-fnet", folder / "out"), "not a regular file"));
}

TEST_CASE("damaged forms: there can't be more labels than the tensors have rows") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(3));
  auto config = nlohmann::json::parse(folder.read("out/config.json"));
  config["id2label"]["3"] = "more";
  folder.write("out/config.json", config.dump());
  CHECK(contains(
      error_of("huggingface-fnet", folder / "out"),
      "4 labels (id2label, num_labels), but the tensor classifier.weight in model.safetensors has the shape (3, 8)"));
  config.erase("id2label");
  config["num_labels"] = 1 << 20;
  folder.write("out/config.json", config.dump());
  CHECK(contains(error_of("huggingface-fnet", folder / "out"), "1048576 labels (id2label, num_labels), but"));
}

TEST_CASE("a checkpoint whose config.json would be too large to read is saved and loaded without a config.json") {
  const TemporaryFolder folder;
  Checkpoint made = classifier(3);
  (void)save_checkpoint_as("weft", folder / "out", made);
  CHECK(std::filesystem::exists(folder / "out/config.json"));
  made.info.labels = {"a", "b", std::string(17 << 20, 'c')};
  (void)save_checkpoint_as("weft", folder / "out", made);
  CHECK(!std::filesystem::exists(folder / "out/config.json"));
  CHECK(load_checkpoint(folder / "out").info.labels == made.info.labels);
}

TEST_CASE("base64: all bytes are encoded and decoded, and invalid text is refused") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (std::size_t size = 0; size <= all.size(); ++size)
    CHECK(detail::from_base64(detail::to_base64(all.substr(0, size))) == all.substr(0, size));
  CHECK(detail::to_base64("weft!") == "d2VmdCE=");
  for (const char* wrong : {"d2Vm!", "d2V", "=2Vm", "d2=m", "d2Vm\xff\xff\xff\xff", "d2VmdCF=", "===="})
    CHECK_THROWS_AS((void)detail::from_base64(wrong), Error);
}

}  // namespace weft::test
