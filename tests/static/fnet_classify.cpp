// fnet_classify CHECKPOINT TEXT
// Prints the most probable label of a text, and its probability. The program contains FNet alone and no code that
// trains, so it shows how small a static program that uses weft can be (bench/footprint/size).
#include <weft/fnet.h>
#include <weft/load_parameters.h>
#include <weft/ops.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

weft::ModelSpec spec_of(const nlohmann::json& saved, const weft::Tokenizer& tokenizer) {
  weft::ModelSpec spec;
  spec.arch = saved.at("arch");
  spec.task = weft::Task::classifier;
  spec.vocabulary = tokenizer.size();
  spec.classes = saved.at("classes");
  spec.config = saved.at("config").dump();
  return spec;
}

void classify(const std::string& folder, const std::string& text) {
  const weft::SafetensorsFile file(folder + "/model.safetensors");
  const nlohmann::json saved = nlohmann::json::parse(file.metadata().at("weft"));
  const auto tokenizer = weft::tokenizer_from_json(saved.at("vocabulary").dump());
  weft::Init init;
  init.shapes_only = true;
  const weft::Fnet model(spec_of(saved, *tokenizer), init);
  weft::load_parameters(model, file, {}, {weft::Purpose::inference});

  const std::int64_t pad_to =
      saved.value("pad_to", saved.at("length").get<std::int64_t>());  // earlier versions padded to length
  const weft::Tensor row = weft::encode_rows(*tokenizer, {text}, saved.at("length"), pad_to);
  const std::vector<float> probabilities = weft::softmax(model(row), -1).to_vector<float>();
  const auto best = std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
  const std::string label = saved.contains("labels") ? std::string(saved["labels"][best]) : std::to_string(best + 1);
  std::printf("%s\t%.4f\n", label.c_str(), static_cast<double>(probabilities[best]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: fnet_classify CHECKPOINT TEXT\n", stderr);
    return 2;
  }
  try {
    classify(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fnet_classify: %s\n", error.what());
    return 1;
  }
}
