// Tests of checkpoints of quantized models: they are saved, loaded for inference, and refused if they are damaged or
// can't be used.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "checkpoint/load_quantized.h"
#include "contains.h"
#include "op_table.h"
#include "quantized_cases.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "weft/classifier.h"
#include "weft/context.h"
#include "weft/os.h"
#include "weft/quantize.h"

namespace weft::test {
namespace {

// A trained model, quantized and saved.
struct Saved {
  TemporaryFolder folder;
  SmallTask small;
  std::string path = folder / "saved";

  explicit Saved(const QuantizedCase& c) : small(trained(c)) {
    quantize(*small.model, c.to);
    save_checkpoint(path, *small.model, *small.data->tokenizer());
  }

  std::string file() const { return path + "/model.safetensors"; }
  std::shared_ptr<std::string> bytes() const {
    return std::make_shared<std::string>(folder.read("saved/model.safetensors"));
  }
};

Saved usual(Quantization to) { return Saved({"", "gmlp", Task::causal_lm, "{}", to}); }

// Returns the results for few and for many rows, alternately and often enough that a weight in a file is packed.
std::vector<Tensor> answers(const Model& model) {
  const NoGrad suspended;
  std::vector<Tensor> all;
  for (const auto& [b, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 5}, {2, 16}, {2, 16}, {1, 1}})
    all.push_back(model(random_tensor(indices({b, n}, model.vocabulary()), 3)));
  if (model.task() != Task::causal_lm) return all;
  const auto stream = model.stream();
  for (std::int64_t token = 0; token < 11; ++token) all.push_back(stream->next(token));
  return all;
}

// Writes the checkpoint's file with one tensor replaced by `tensor`, or without it if `tensor` is undefined.
std::string forged(const Saved& saved, const std::string& name, const Tensor& tensor, const std::string& as = "") {
  const SafetensorsFile file(saved.file());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& each : file.names())
    if (each != name) tensors.emplace_back(each, file.load(each));
  if (tensor.defined()) tensors.emplace_back(as.empty() ? name : as, tensor);
  std::filesystem::create_directories(saved.folder / "forged");
  save_safetensors(saved.folder / "forged/model.safetensors", tensors, file.metadata());
  return saved.folder / "forged";
}

void check_refused(const std::string& folder, const std::string& part) {
  const std::string message = error_of([&] { (void)load_checkpoint(folder, Purpose::inference); });
  CAPTURE(message);
  CHECK(contains(message, folder));
  CHECK(contains(message, part));
}

const std::string scaled = "blocks.0.proj1.weight";

}  // namespace

TEST_CASE("quantized checkpoints: loaded from a file or from memory, they give the bits of the model that was saved") {
  for (const QuantizedCase& c : quantized_cases()) {
    CAPTURE(c.name);
    const Saved saved(c);
    for (const Precision precision : {Precision::bf16, Precision::f32}) {
      saved.small.model->set_precision(precision);
      const auto want = answers(*saved.small.model);
      auto bytes = saved.bytes();
      const auto shifted = std::make_shared<std::string>(" " + *bytes);
      const Checkpoint from_file = load_checkpoint(saved.path, Purpose::inference);
      const Checkpoint owned = load_checkpoint({bytes->data(), bytes->size(), bytes, false}, Purpose::inference);
      const Checkpoint moved =
          load_checkpoint({shifted->data() + 1, shifted->size() - 1, shifted, false}, Purpose::inference);
      const Checkpoint copied = load_checkpoint({bytes->data(), bytes->size(), nullptr, false}, Purpose::inference);
      CHECK(bytes.use_count() > 1);
      bytes.reset();
      for (const Checkpoint* loaded : {&from_file, &owned, &moved, &copied}) {
        CHECK(loaded->model->precision() == Precision::bf16);
        CHECK(quantized_to(loaded->model->parameters()) == c.to);
        loaded->model->set_precision(precision);
        check_same(answers(*loaded->model), want);
        check_same(answers(*loaded->model), want);
      }
    }
  }
}

TEST_CASE("quantized checkpoints: a model saved again, from memory or after loading, gives the same bytes") {
  for (const Quantization to : quantizations()) {
    const Saved saved = usual(to);
    const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
    (void)answers(*loaded.model);
    save_checkpoint(saved.folder / "again", *loaded.model, *loaded.tokenizer, loaded.info);
    CHECK(saved.folder.read("again/model.safetensors") == *saved.bytes());
    CHECK(contains(saved.folder.read("saved/config.json"), std::string("\"quantized\": \"") + quantization_name(to)));
  }
}

TEST_CASE(
    "quantized checkpoints: they have a half, a quarter or 0.14 of the parameters' bytes, in the file and in memory") {
  const TemporaryFolder folder;
  const auto tokenizer = characters(small_text(), Task::masked_lm);
  const auto made = [&] {
    const std::string config = R"({"layers":2,"seq_len":41,"d_model":256})";
    return make_model({"fnet", Task::masked_lm, tokenizer->size(), 0, config}, {Random(3), DType::f32});
  };
  save_checkpoint(folder / "f32", *made(), *tokenizer);
  const auto size = [&](const std::string& name) {
    return static_cast<double>(std::filesystem::file_size(folder / (name + "/model.safetensors")));
  };
  for (const Quantization to : quantizations()) {
    const std::string name = quantization_name(to);
    CAPTURE(name);
    const auto model = made();
    quantize(*model, to);
    save_checkpoint(folder / name, *model, *tokenizer);
    const double part = size(name) / size("f32"), whole = to == Quantization::bf16   ? 0.5
                                                          : to == Quantization::int8 ? 0.25
                                                                                     : 4.5 / 32;
    CHECK(part > whole);
    CHECK(part < whole + 0.02);
    const Checkpoint loaded = load_checkpoint(folder / name, Purpose::inference);
    Context context;
    const ContextScope scope(context);
    const NoGrad suspended;
    for (int call = 0; call < 2; ++call) (void)(*loaded.model)(random_tensor(indices({1, 40}, tokenizer->size()), 3));
    context.memory().trim();
    CHECK(static_cast<double>(context.memory().use().current) < 1.2 * size(name));
  }
}

TEST_CASE("quantized checkpoints: a classifier's results are close to those of f32") {
  for (const std::string& arch : own_architectures)
    for (const Quantization to : quantizations()) {
      const QuantizedCase c{"", arch, Task::classifier, "{}", to};
      const Saved saved(c);
      save_checkpoint(saved.folder / "f32", *trained(c).model, *saved.small.data->tokenizer());
      const Classifier was(load_checkpoint(saved.folder / "f32", Purpose::inference));
      const Classifier is(load_checkpoint(saved.path, Purpose::inference));
      const std::vector<std::string> texts = {"red green blue", "south", "one two three and 7", ""};
      const auto want = was.probabilities(texts), got = is.probabilities(texts);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        CHECK(got[i] == is.probabilities(texts[i]));
        for (std::size_t k = 0; k < 3; ++k)
          CHECK(std::abs(got[i][k] - want[i][k]) < (to == Quantization::int4 ? 0.1 : 0.03));
      }
    }
}

TEST_CASE("quantized checkpoints: training refuses them and names an alternative") {
  for (const Quantization to : quantizations()) {
    const Saved saved = usual(to);
    const std::string message = error_of([&] { (void)load_checkpoint(saved.path); });
    CAPTURE(message);
    for (const std::string& part : {saved.file(), std::string(quantization_name(to)), std::string("Purpose::inference"),
                                    std::string("original checkpoint"), std::string("quantize it again")})
      CHECK(contains(message, part));
  }
}

TEST_CASE("quantized checkpoints: damaged checkpoints are refused") {
  const Saved saved = usual(Quantization::int8);
  const std::string scale = scaled + "_scale";
  const SafetensorsFile file(saved.file());
  const Tensor scales = file.load(scale, Load::copy), values = file.load(scaled, Load::copy);
  const std::int64_t rows = values.size(0), columns = values.size(1);
  const auto with = [&](double bad) {
    auto numbers = scales.to_vector<float>();
    numbers[1] = static_cast<float>(bad);
    return Tensor::from(numbers, scales.shape());
  };
  check_refused(forged(saved, scale, {}), scaled + " is i8, but the file has no " + scale);
  check_refused(forged(saved, scale, with(std::nan(""))), scale + " has nan");
  check_refused(forged(saved, scale, with(INFINITY)), scale + " has inf");
  check_refused(forged(saved, scale, with(-1)), scale + " has -1.0");
  check_refused(forged(saved, scale, slice(scales, 0, 0, rows - 1)), scale + " is (" + std::to_string(rows - 1) + ",)");
  check_refused(forged(saved, scale, reshape(scales, {rows, 1})), scale + " is (" + std::to_string(rows) + ", 1)");
  check_refused(forged(saved, scale, raw::convert(scales, DType::f64)), scale + " is F64, expected f32");
  check_refused(forged(saved, scaled, raw::convert(values, DType::f64)), scaled + " is F64, expected i8");
  check_refused(forged(saved, scaled, raw::convert(values, DType::f32)),
                " tensors, as the config requires, got ");  // including scales
  check_refused(forged(saved, scaled, slice(values, 1, 0, columns - 1)), scaled + " is (" + std::to_string(rows));
  check_refused(forged(saved, "norm.weight", Tensor::zeros({16}, DType::bf16)), "norm.weight is BF16, expected f32");
  check_refused(forged(saved, "none", Tensor::zeros({1}), "norm.weight_scale"),
                " tensors, as the config requires, got ");
  const std::string whole = *saved.bytes();
  for (std::size_t cut = 0; cut < whole.size(); cut += 499) {
    saved.folder.write("forged/model.safetensors", whole.substr(0, cut));
    check_refused(saved.folder / "forged", "forged/model.safetensors");
  }
}

TEST_CASE("quantized checkpoints: a weight with too many columns for i8 is refused, in memory and in a file") {
  const auto model =
      make_model({"gmlp", Task::causal_lm, 3, 0, R"({"layers":1,"d_model":2,"d_ffn":131074,"seq_len":2})"}, Init{});
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : model->parameters()) {
    const Tensor& value = parameter.value();
    tensors.emplace_back(name, parameter.quantizable() ? Tensor::zeros(value.shape(), DType::i8) : value);
    if (parameter.quantizable()) tensors.emplace_back(name + "_scale", Tensor::zeros({value.size(0)}));
  }
  const TemporaryFolder folder;
  save_safetensors(folder / "wide", tensors);
  const SafetensorsFile file(folder / "wide");
  const std::string in_memory = error_of([&] { quantize(*model, Quantization::int8); }),
                    in_file = error_of([&] { detail::load_quantized(file, *model, Quantization::int8); });
  for (const std::string& message : {in_memory, in_file}) {
    CAPTURE(message);
    CHECK(contains(message, "blocks.0.proj2.weight"));
    CHECK(contains(message, "expected at most 65536 columns"));
  }
}

TEST_CASE("quantized checkpoints: -128, the smallest i8, is a valid value") {
  const Saved saved = usual(Quantization::int8);
  const Tensor values = SafetensorsFile(saved.file()).load(scaled, Load::copy);
  auto numbers = values.to_vector<std::int8_t>();
  numbers[0] = -128;
  const Checkpoint loaded =
      load_checkpoint(forged(saved, scaled, Tensor::from(numbers, values.shape())), Purpose::inference);
  const Checkpoint before = load_checkpoint(saved.path, Purpose::inference);
  const auto got = answers(*loaded.model), want = answers(*before.model);
  for (const Tensor& logits : got)
    for (const float x : raw::convert(logits, DType::f32).to_vector<float>()) CHECK(std::isfinite(x));
  CHECK_FALSE(same_bits(got[2], want[2]));
}

TEST_CASE("quantized checkpoints: a weight that is no longer quantizable stays f32, in memory and in the file") {
  const SmallTask small = trained({"", "gmlp", Task::causal_lm, "{}", Quantization::int8});
  for (auto [name, parameter] : small.model->parameters())
    if (name == "head.weight") parameter.set_quantizable(false);
  quantize(*small.model, Quantization::int8);
  const TemporaryFolder folder;
  save_checkpoint(folder / "saved", *small.model, *small.data->tokenizer());
  const Checkpoint loaded = load_checkpoint(folder / "saved", Purpose::inference);
  for (auto [name, parameter] : loaded.model->parameters()) {
    if (name != "head.weight") continue;
    CHECK(parameter.value().dtype() == DType::f32);
    CHECK_THROWS_AS(parameter.set_quantizable(true), Error);
  }
  const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3}, {1, 3});
  CHECK(same_bits((*loaded.model)(tokens), (*small.model)(tokens)));
}

TEST_CASE("quantized checkpoints: metadata and tensors must agree") {
  const Saved saved = usual(Quantization::int8);
  const SafetensorsFile file(saved.file());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& each : file.names()) tensors.emplace_back(each, file.load(each));
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& part) {
    std::string metadata = file.metadata().at("weft");
    const std::size_t at = metadata.find(from);
    REQUIRE(at != std::string::npos);
    metadata.replace(at, from.size(), to);
    std::filesystem::create_directories(saved.folder / "forged");
    save_safetensors(saved.folder / "forged/model.safetensors", tensors, {{"weft", metadata}});
    check_refused(saved.folder / "forged", part);
  };
  refused(R"("quantized":"int8",)", "", "is I8, expected f32");
  refused(R"("quantized":"int8")", R"("quantized":"bf16")", "is I8, expected bf16");
  refused(R"("quantized":"int8")", R"("quantized":"int2")", "expected bf16, int8 or int4, got \"int2\"");
  refused(R"("quantized":"int8")", R"("quantized":"int4")", ", but the config requires (");
  refused(R"("quantized":"int8")", R"("quantized":8)", "the metadata are damaged");
}

}  // namespace weft::test
