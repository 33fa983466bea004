// Tests of copying the parameters of a trained classifier: which outputs keep what they have learned.
#include <doctest/doctest.h>

#include <map>

#include "random_parameters.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

using Values = std::map<std::string, std::vector<double>>;

Values named_values(const Model& model) {
  Values values;
  for (const auto& [name, parameter] : model.parameters())
    values[name] = raw::convert(raw::contiguous(parameter.value()), DType::f64).to_vector<double>();
  return values;
}

// A classifier with as many classes as labels. That number is also the width of the model, so shapes don't distinguish
// the head from other parameters.
Checkpoint classifier(const std::string& arch, const std::vector<std::string>& labels, std::uint64_t seed) {
  Checkpoint made;
  made.model = small_model(arch, Task::classifier, 9, std::ssize(labels), {4, 6, 4});
  randomize(made.model->parameters(), 0.2 + 0.1 * static_cast<double>(seed));
  made.info.labels = labels;
  return made;
}

std::vector<float> logits(const Model& model) {
  return model(Tensor::from<std::int64_t>({2, 3, 4, 5, 6}, {1, 5})).to_vector<float>();
}

}  // namespace

TEST_CASE("copy_parameters: outputs are matched by label name in any order, and other outputs are new") {
  const std::vector<std::string> old_labels = {"wind", "number", "colour", "sound"};
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const Checkpoint from = classifier(arch, old_labels, 1);
    const std::vector<float> before = logits(*from.model);

    const std::vector<std::string> mixed = {"sound", "smell", "wind", "taste"};
    const Checkpoint some = classifier(arch, mixed, 2);
    const Values own = named_values(*some.model), trained = named_values(*from.model);
    CHECK(copy_parameters(from, *some.model, mixed).empty());
    const std::vector<float> after = logits(*some.model);
    CHECK(after[0] == before[3]);
    CHECK(after[2] == before[0]);
    CHECK(after[1] != before[1]);
    CHECK(after[3] != before[3]);
    const std::string head = arch == "fnet" ? "classifier" : "head";
    const Values now = named_values(*some.model);
    for (const auto& each : now) {
      const std::string& name = each.first;
      const auto& values = each.second;
      CAPTURE(name);
      if (name != head + ".weight" && name != head + ".bias") {
        CHECK(values == trained.at(name));
        continue;
      }
      const std::size_t width = values.size() / 4;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t row = i / width, in_row = i % width;
        CHECK(values[i] == (row == 0   ? trained.at(name)[3 * width + in_row]
                            : row == 2 ? trained.at(name)[in_row]
                                       : own.at(name)[i]));
      }
    }

    const std::vector<std::string> fewer = {"number", "wind"};
    const Checkpoint part = classifier(arch, fewer, 3);
    CHECK(copy_parameters(from, *part.model, fewer).empty());
    CHECK(logits(*part.model) == std::vector<float>{before[1], before[0]});

    const std::vector<std::string> others = {"a", "b", "c", "d"};
    const Checkpoint none = classifier(arch, others, 4);
    const Values fresh = named_values(*none.model);
    CHECK(copy_parameters(from, *none.model, others) == std::vector<std::string>{head + ".weight", head + ".bias"});
    CHECK(named_values(*none.model).at(head + ".weight") == fresh.at(head + ".weight"));
    CHECK(named_values(*none.model).at(head + ".bias") == fresh.at(head + ".bias"));

    CHECK(error_of([&] { (void)copy_parameters(from, *none.model, fewer); }) ==
          "[checkpoint] expected 4 labels, one for each output of the model, got 2");
  }
}

TEST_CASE(
    "copy_parameters: labels of a checkpoint without names are numbers; a language model's head is not used for a "
    "classifier") {
  Checkpoint from = classifier("gmlp", {"1", "2", "3"}, 1);
  from.info.labels.clear();
  const std::vector<float> before = logits(*from.model);
  const Checkpoint to = classifier("gmlp", {"3", "1", "2"}, 2);
  CHECK(copy_parameters(from, *to.model, to.info.labels).empty());
  CHECK(logits(*to.model) == std::vector<float>{before[2], before[0], before[1]});

  Checkpoint text;
  text.model = small_model("gmlp", Task::causal_lm, 9, 0, {4, 6, 4});
  std::vector<std::string> nine;
  for (int i = 1; i <= 9; ++i) nine.push_back(std::to_string(i));
  const Checkpoint rows = classifier("gmlp", nine, 3);
  const auto fresh = named_values(*rows.model).at("head.weight");
  const std::vector<std::string> others = copy_parameters(text, *rows.model, nine);
  CHECK(std::count(others.begin(), others.end(), "head.weight") == 1);
  CHECK(named_values(*rows.model).at("head.weight") == fresh);
}

}  // namespace weft::test
