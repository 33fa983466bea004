// Tests of texts whose labels are numbers, several labels, or tags, and of predictions for texts.
#include "weft/target_rows.h"

#include <doctest/doctest.h>

#include <cmath>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/predict.h"

namespace weft::test {
namespace {

using Strings = std::vector<std::string>;

// Makes rows from pairs (text, label).
LabeledTexts rows_of(const std::vector<std::pair<std::string, std::string>>& rows) {
  LabeledTexts all;
  for (const auto& [text, label] : rows) {
    all.texts.push_back(text);
    all.labels.push_back(std::ssize(all.names));
    all.names.push_back(label);
  }
  return all;
}

// 60 rows whose labels follow from their words.
LabeledTexts small_table(Task task) {
  const Strings words{"red", "green", "blue", "cold", "warm"};
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t a = i % 5, b = i / 5 % 5, c = i / 7 % 5;
    const std::string text = words[a] + " " + words[b] + " " + words[c];
    if (task == Task::regression) rows.emplace_back(text, std::to_string(1000 + 100 * (a + b + c)));
    else if (task == Task::multilabel) rows.emplace_back(text, a > 2 || b > 2 || c > 2 ? "color|weather" : "color");
    else rows.emplace_back(text, std::string(a > 2 ? "W" : "C") + (b > 2 ? " W" : " C") + (c > 2 ? " W" : " C"));
  }
  return rows_of(rows);
}

std::shared_ptr<const Tokenizer> tokenizer_for(Task task, const LabeledTexts& rows) {
  return learn_tokenizer(task == Task::tagging ? "whitespace" : "words", rows.texts, {task, 0, 1});
}

std::string refused_row(Task task, const std::pair<std::string, std::string>& row) {
  const LabeledTexts known = small_table(task), other = rows_of({row});
  const TargetKind kind = find_targets(task, known);
  return error_of([&] { (void)target_data(known, other, kind, tokenizer_for(task, known), 8, 4); });
}

}  // namespace

TEST_CASE("targets: the outputs and the unit of the labels") {
  const TargetKind numbers = find_targets(Task::regression, rows_of({{"a", "1 +2.5"}, {"b", "3 -1e1"}}));
  CHECK(numbers.outputs == Strings{"value 1", "value 2"});
  CHECK(numbers.output.mean == std::vector<double>{2, -3.75});
  CHECK(numbers.output.deviation == std::vector<double>{1, 6.25});
  CHECK(find_targets(Task::regression, rows_of({{"a", "7"}})).outputs == Strings{"value"});
  CHECK(find_targets(Task::multilabel, rows_of({{"a", "x|y z"}, {"b", "|"}, {"c", "w"}})).outputs ==
        Strings{"w", "x", "y z"});
  CHECK(find_targets(Task::multilabel, rows_of({{"a", "x | y z"}, {"b", " | "}, {"c", "x |w"}})).outputs ==
        Strings{"w", "x", "y z"});
  CHECK(find_targets(Task::tagging, rows_of({{"a b", "O B-x"}, {"c", "I-x"}})).outputs == Strings{"B-x", "I-x", "O"});
  CHECK_THROWS_WITH_AS((void)find_targets(Task::regression, rows_of({{"a", "1"}, {"b", "1 2"}})),
                       doctest::Contains("expected 1 numbers, as in the first row"), Error);
  for (const char* bad : {"one", "1,5", "nan", "inf", "1e400", "0x1", "1 x", ""})
    CHECK_THROWS_WITH_AS((void)find_targets(Task::regression, rows_of({{"the text", bad}})),
                         doctest::Contains("of the row \"the text\""), Error);
  CHECK(find_targets(Task::classifier, rows_of({{"a", "y"}, {"b", "x"}})).outputs == Strings{"y", "x"});
  CHECK(find_targets(Task::retrieval, rows_of({{"a", "y"}})).outputs.empty());
  CHECK_THROWS_AS((void)find_targets(Task::causal_lm, rows_of({{"a", "1"}})), Error);
}

TEST_CASE("targets: the rows of a batch") {
  const LabeledTexts multi = rows_of({{"red cold", "b | a"}, {"blue", "|"}});
  const TargetKind kind = find_targets(Task::multilabel, multi);
  const auto words = tokenizer_for(Task::multilabel, multi);
  const Batch batch = target_data({}, multi, kind, words, 8, 4)->validation(0);
  CHECK(batch.lengths == std::vector<std::int64_t>{2, 3});  // including [cls], shortest rows first
  CHECK(batch.target.to_vector<float>() == std::vector<float>{0, 0, 1, 1});
  CHECK(slice(batch.tokens, 0, 1, 2).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{*words->special().cls, words->encode("red")[0], words->encode("cold")[0]});

  const LabeledTexts tags = rows_of({{"New York is big", "B I O O"}, {"Rome", "B"}});
  const auto whitespace = tokenizer_for(Task::tagging, tags);
  const Batch tagged =
      target_data({}, tags, find_targets(Task::tagging, tags), whitespace, 3, 4)->validation(0);  // cut after "is"
  CHECK(tagged.lengths == std::vector<std::int64_t>{1, 3});
  CHECK(tagged.target.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, -100, -100, 0, 1, 2});
  CHECK(tagged.predicted == 4);
}

TEST_CASE("targets: an error for an invalid label names the row") {
  CHECK(contains(refused_row(Task::regression, {"red", "1 2"}),
                 "the label \"1 2\" of the row \"red\": expected 1 numbers"));
  CHECK(contains(refused_row(Task::multilabel, {"red", "color|taste"}), "names that occur in training, got \"taste\""));
  CHECK(contains(refused_row(Task::tagging, {"red green", "C"}), "a tag for each of 2 words, got 1"));
  CHECK(contains(refused_row(Task::tagging, {"red", "X"}), "got \"X\""));
  CHECK(contains(refused_row(Task::tagging, {"", ""}), "a tag for each of 0 words, got 0"));
}

TEST_CASE("targets: every architecture learns them, and a Predictor gives the results that evaluation measures") {
  for (const Task task : {Task::regression, Task::multilabel, Task::tagging})
    for (const std::string& arch : own_architectures) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      const TemporaryFolder folder;
      const LabeledTexts rows = small_table(task);
      const auto data = target_data(rows, rows, find_targets(task, rows), tokenizer_for(task, rows), 8, 8);
      const auto model =
          make_model(data->spec(arch, R"({"d_model":16,"layers":1,"seq_len":8})"), {Random(3), DType::f32});
      TrainOptions options = small_options(150);
      options.schedule.peak = 0.01;
      Trainer trainer(*model, *data, options);
      RunOptions run;
      run.folder = folder / "run";
      const Evaluation measured = *trainer.run(run).evaluation;
      const Predictor predictor(load_checkpoint(folder / "run" + "/last", Purpose::inference));
      CHECK(predictor.checkpoint().model->output().mean == model->output().mean);
      double error = 0, right = 0, all = 0;
      for (std::size_t i = 0; i < rows.texts.size(); ++i) {
        const std::string &text = rows.texts[i], &label = rows.names[i];
        if (task == Task::regression) {
          error += std::abs(predictor.numbers(text).at(0) - std::stod(label)) / 60;
          CHECK(predictor.numbers(rows.texts).at(i) == predictor.numbers(text));
        } else if (task == Task::multilabel) {
          const auto found = predictor.labels(text);
          right += (found.size() == 2) == contains(label, "|");
          CHECK(predictor.labels(text, 0).size() == 2);
          CHECK(predictor.labels(text, 1).empty());
          const auto same = predictor.labels(rows.texts, 0).at(i), alone = predictor.labels(text, 0);
          CHECK(same.size() == 2);
          CHECK((same[0].label == alone[0].label && same[0].probability == alone[0].probability));
          all += 1;
        } else {
          std::string given;
          for (const auto& [word, tag] : predictor.tags(text)) given += (given.empty() ? "" : " ") + tag;
          right += given == label;
          CHECK(predictor.tags(rows.texts).at(i) == predictor.tags(text));
          all += 1;
        }
      }
      if (task == Task::regression) {
        CHECK(measured.metric("R2") > 0.9);
        CHECK(error == doctest::Approx(measured.metric("MAE")).epsilon(1e-4));
        CHECK_THROWS_AS((void)predictor.labels("red"), Error);
      } else {
        CHECK(measured.metric("macro F1") > 0.9);
        CHECK(right / all > 0.9);
        CHECK_THROWS_AS((void)predictor.numbers("red"), Error);
      }
    }
}

TEST_CASE("predictions: long texts are tagged in parts, and input that isn't a text is refused") {
  const LabeledTexts rows = small_table(Task::tagging);
  const auto data =
      target_data(rows, rows, find_targets(Task::tagging, rows), tokenizer_for(Task::tagging, rows), 8, 8);
  Checkpoint checkpoint;
  checkpoint.model = make_model(data->spec("gmlp", R"({"d_model":8,"layers":1,"seq_len":8})"), {Random(3), DType::f32});
  checkpoint.tokenizer = data->tokenizer();
  checkpoint.info.length = 8;
  checkpoint.info.labels = data->labels();
  const Predictor predictor(std::move(checkpoint));
  std::string text;
  for (int i = 0; i < 19; ++i) text += " red\tunknown";
  const auto tags = predictor.tags(text);
  CHECK(tags.size() == 38);
  CHECK(tags[1].first == "unknown");
  CHECK(predictor.tags("").empty());
  CHECK_THROWS_WITH_AS((void)predictor.tags("\xFF"), doctest::Contains("UTF-8"), Error);
  const std::vector<std::string> with_a_bad_one{"red", "\xFF"};
  CHECK_THROWS_WITH_AS((void)predictor.tags(with_a_bad_one), doctest::Contains("UTF-8"), Error);
  CHECK(predictor.tags(std::vector<std::string>()).empty());
  const SmallTask classifier = small_task("gmlp", Task::classifier);
  Checkpoint other;
  other.tokenizer = classifier.data->tokenizer();
  other.model = small_model("gmlp", Task::classifier, other.tokenizer->size(), 3, {});
  CHECK_THROWS_WITH_AS((void)Predictor(std::move(other)), doctest::Contains("the checkpoint has the task classifier"),
                       Error);
}

TEST_CASE("outputs with a unit: y · deviation + mean, with gradients, and invalid units") {
  const OutputSpec spec{{10, -1}, {2, 0.5}};
  for (const std::string& arch : own_architectures) {
    ModelSpec plain{arch, Task::regression, 9, 2, R"({"d_model":6,"layers":1,"seq_len":8})"}, with_unit = plain;
    with_unit.output = spec;
    const Init init{Random(3), DType::f64};
    const auto a = make_model(plain, init), b = make_model(with_unit, init);
    const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3, 4}, {2, 2});
    const Tensor want = add(mul((*a)(tokens), Tensor::from(spec.deviation, {2})), Tensor::from(spec.mean, {2}));
    CHECK(max_abs(sub((*b)(tokens), want)) < 1e-14);
    with_unit.task = Task::tagging;
    CHECK_THROWS_WITH_AS((void)make_model(with_unit, init), doctest::Contains("not for the task tagging"), Error);
    with_unit.task = Task::regression;
    with_unit.output.deviation = {1, 0};
    CHECK_THROWS_AS((void)make_model(with_unit, init), Error);
    with_unit.output = {{1}, {1}};
    CHECK_THROWS_AS((void)make_model(with_unit, init), Error);
  }
  CHECK_THROWS_AS((void)output_spec(Tensor::zeros({0, 2})), Error);
  CHECK_THROWS_AS((void)output_spec(Tensor::full({1, 2}, NAN)), Error);
}

}  // namespace weft::test
