// Tests of load_parameters: tensors that have other names or axis orders, are used twice, or are missing.
#include "weft/load_parameters.h"
#include "contains.h"

#include <doctest/doctest.h>

#include <map>

#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/gmlp.h"
#include "weft/parameter_set.h"

namespace weft::test {
namespace {

using Tensors = std::vector<std::pair<std::string, Tensor>>;
using Names = std::vector<std::string>;

// A model with random values, and another model with the same sizes.
struct Pair {
  TemporaryFolder folder;
  std::unique_ptr<Model> from = made(), to = made();

  Pair() { randomize(from->parameters()); }
  static std::unique_ptr<Model> made(DType dtype = DType::f32, bool shapes_only = false) {
    Init init{Random(5), dtype};
    init.shapes_only = shapes_only;
    return make_model({"gmlp", Task::causal_lm, 7, 0, R"({"d_model":6,"d_ffn":8,"layers":2,"seq_len":5})"}, init);
  }
  Tensors tensors() const {
    Tensors all;
    for (const auto& [name, parameter] : from->parameters()) all.emplace_back(name, parameter.value());
    return all;
  }
  SafetensorsFile file(const Tensors& all) const {
    save_safetensors(folder / "file", all);
    return SafetensorsFile(folder / "file");
  }
};

void check_equal(const Model& a, const Model& b) {
  const NamedParameters left = a.parameters(), right = b.parameters();
  REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    CAPTURE(left[i].first);
    CHECK(left[i].second.value().to_vector<float>() == right[i].second.value().to_vector<float>());
  }
}

Tensor turned(const Tensor& t) { return transpose(t, 0, 1); }

}  // namespace

TEST_CASE("load_parameters: from a file with the model's own names, in any dtype") {
  const Pair pair;
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensors all = pair.tensors();
    for (auto& named : all) named.second = raw::convert(named.second, dtype);
    for (const Purpose purpose : {Purpose::training, Purpose::inference})
      for (const bool shapes_only : {false, true}) {
        const auto to = Pair::made(DType::f32, shapes_only);
        const LoadReport report = load_parameters(*to, pair.file(all), {}, {purpose, false});
        CHECK(report.complete());
        CHECK(report.text().empty());
        CHECK(report.loaded.size() == all.size());
        CHECK(report.file == pair.folder / "file");
        check_equal(*pair.from, *to);
        CHECK(to->parameters()[0].second.writable() == (purpose == Purpose::training));
      }
  }
  const auto wide = Pair::made(DType::f64);
  (void)load_parameters(*wide, pair.file(pair.tensors()));
  for (const auto& [name, parameter] : wide->parameters()) CHECK(parameter.value().dtype() == DType::f64);
}

TEST_CASE("load_parameters: other names, another order of axes, a tensor used twice, and one that is ignored") {
  const Pair pair;
  Tensors theirs;
  for (const auto& [name, value] : pair.tensors())
    theirs.emplace_back("net." + name, name == "blocks.1.proj1.weight" ? raw::contiguous(turned(value)) : value);
  theirs.emplace_back("again", theirs[0].second);
  theirs.emplace_back("position_ids", Tensor::from<std::int64_t>({0, 1, 2}, {3}));
  const std::string first = pair.tensors()[0].first;
  const Rename rename = [&](const std::string& name) -> TensorRole {
    if (name == "position_ids") return {};
    if (name == "again") return {first};
    if (name == "net.blocks.1.proj1.weight") return {"blocks.1.proj1.weight", turned};
    return {name.substr(4)};
  };
  const LoadReport report = load_parameters(*pair.to, pair.file(theirs), rename);
  CHECK(report.left_out == Names{"position_ids"});
  CHECK(report.loaded.size() == pair.tensors().size());
  check_equal(*pair.from, *pair.to);
  // Loads a single layer.
  const GmlpBlock block(6, 8, 5, Init{});
  const Rename of_block = [](const std::string& name) -> TensorRole {
    const std::string prefix = "net.blocks.0.";
    return name.rfind(prefix, 0) == 0 ? TensorRole(name.substr(prefix.size())) : TensorRole();
  };
  CHECK(load_parameters(parameters_of(block), pair.file(theirs), of_block).complete());
  for (const auto& [name, value] : pair.tensors())
    if (name == "blocks.0.sgu.weight") CHECK(block.sgu.weight.value().to_vector<float>() == value.to_vector<float>());
  // A function that only maps names.
  Tensors prefixed;
  for (const auto& [name, value] : pair.tensors()) prefixed.emplace_back("x" + name, value);
  const auto other = Pair::made();
  (void)load_parameters(*other, pair.file(prefixed), [](const std::string& name) { return name.substr(1); });
  check_equal(*pair.from, *other);
}

TEST_CASE("load_parameters: an error names all missing, unused or misshapen tensors, and nothing is written") {
  const Pair pair;
  Tensors all = pair.tensors();
  const std::string missing = all.back().first, turned_name = "blocks.0.proj1.weight", integers = all[0].first;
  for (auto& [name, value] : all) {
    if (name == turned_name) value = raw::contiguous(turned(value));
    if (name == integers) value = Tensor::zeros(value.shape(), DType::i64);
  }
  all.pop_back();
  all.emplace_back("colour", Tensor::zeros({2}));
  const SafetensorsFile file = pair.file(all);
  const auto before = Pair::made();
  const std::string error = error_of([&] { (void)load_parameters(*pair.to, file); });
  CHECK(error == "\"" + (pair.folder / "file") + "\": " + integers +
                     " is I64, expected f32, blocks.0.proj1.weight is (6, 8), but the config requires (8, 6); "
                     "there are no tensors for these parameters: " +
                     missing + "; there are tensors that the config does not require: colour");
  check_equal(*before, *pair.to);
  const LoadReport report = load_parameters(*pair.to, file, {}, {Purpose::training, true});
  CHECK_FALSE(report.complete());
  CHECK(report.missing == Names{missing});
  CHECK(report.unused == Names{"colour"});
  CHECK(report.misshapen.size() == 2);
  CHECK(report.text() == error);
  CHECK(report.loaded.size() == pair.tensors().size() - 3);
  std::size_t changed = 0;
  const NamedParameters now = pair.to->parameters(), were = before->parameters(), from = pair.from->parameters();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool written = std::find(report.loaded.begin(), report.loaded.end(), now[i].first) != report.loaded.end();
    CHECK(now[i].second.value().to_vector<float>() == (written ? from : were)[i].second.value().to_vector<float>());
    changed += written;
  }
  CHECK(changed == report.loaded.size());
}

TEST_CASE("load_parameters: two tensors for one parameter must be equal, and rearranged tensors must fit") {
  const Pair pair;
  Tensors all = pair.tensors();
  const std::string name = "blocks.0.proj1.weight";
  all.emplace_back("again", Tensor::zeros({8, 6}));
  const Rename alias = [&](const std::string& tensor) { return tensor == "again" ? name : tensor; };
  CHECK(contains(error_of([&] { (void)load_parameters(*pair.to, pair.file(all), alias); }),
                 name + " and again both hold " + name + ", but differ"));
  all.pop_back();
  const Rename wrong = [&](const std::string& tensor) -> TensorRole {
    if (tensor == name) return {tensor, turned};
    if (tensor == "blocks.0.proj1.bias") return {tensor, turned};  // it has only one axis
    return {tensor};
  };
  const std::string error = error_of([&] { (void)load_parameters(*pair.to, pair.file(all), wrong); });
  CHECK(contains(error, name + " is (6, 8) after rearranging, but the config requires (8, 6)"));
  const std::string eight = to_string(Shape{8});
  CHECK(contains(error, "blocks.0.proj1.bias is " + eight + ", which can't be rearranged to " + eight + ": "));
  // The error lists the first names and then only the number of others.
  const std::string many = error_of([&] { (void)load_parameters(*pair.to, pair.file({{"x", Tensor::zeros({1})}})); });
  CHECK(contains(many, " more; there are tensors that the config does not require: x"));
}

TEST_CASE(
    "load_parameters: a model in training keeps its flat buffers, and one loaded for inference can't be written") {
  const Pair pair;
  ParameterSet set(pair.to->parameters());
  const SafetensorsFile file = pair.file(pair.tensors());
  (void)load_parameters(*pair.to, file);
  check_equal(*pair.from, *pair.to);
  const auto values = set.values().to_vector<float>();
  for (const ParameterSet::Entry& entry : set.entries()) {
    const auto own = entry.parameter.value().to_vector<float>();
    CHECK(std::equal(own.begin(), own.end(), values.begin() + entry.offset));
  }
  const auto lent = Pair::made();
  (void)load_parameters(*lent, file, {}, {Purpose::inference, false});
  CHECK(contains(error_of([&] { (void)load_parameters(*lent, file); }), "Purpose::training"));
}

}  // namespace weft::test
