// Tests the figures of a report that show what a model predicts, on rows whose true values are known.
#include <doctest/doctest.h>

#include <cmath>

#include "report/predictions.h"

namespace weft::test {
namespace {

using report::Json;

// Returns the given fields of an object in this order, without spaces.
std::string fields(const Json& object, const std::vector<std::string>& names) {
  Json chosen = Json::array();
  for (const std::string& name : names) chosen.push_back(object.at(name));
  return chosen.dump();
}

}  // namespace

TEST_CASE("report of labels: precision, recall and average precision, where equal scores count together") {
  // Label a belongs to rows 0 and 2. Label b belongs to row 0, which has the same score as row 1. Label c belongs to no
  // row.
  const report::Predictions rows{
      3, {0.9, 0.6, 0.05, 0.8, 0.6, 0.05, 0.4, 0.2, 0.05, 0.1, 0.3, 0.05}, {1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}};
  const Json figure = report::precision_recall({"a", "b", "c"}, rows);
  const std::vector<std::string> scores{"actual", "predicted", "precision", "recall", "f1", "average_precision"};
  CHECK(figure["rows"] == 4);
  CHECK(fields(figure["labels"][0], scores) == "[2,2,0.5,0.5,0.5,0.833333]");
  CHECK(fields(figure["labels"][1], scores) == "[1,2,0.5,1,0.666667,0.5]");
  CHECK(fields(figure["labels"][2], scores) == "[0,0,0,0,0,null]");
  CHECK(figure["mean_average_precision"] == 0.666667);
  CHECK(fields(figure["micro"], scores) == "[3,4,0.5,0.666667,0.571429,0.7]");
  CHECK(figure["micro"]["best"].dump() == R"({"threshold":0.4,"f1":0.75})");
  const std::vector<std::string> curve{"label", "recall", "precision", "threshold"};
  CHECK(figure["curves"].size() == 3);
  CHECK(fields(figure["curves"][0], curve) == "[null,[0.333333,0.666667,1],[1,0.5,0.6],[0.9,0.6,0.4]]");
  CHECK(fields(figure["curves"][1], curve) == "[1,[1],[0.5],[0.6]]");  // the label with the fewest rows
  CHECK(fields(figure["curves"][2], curve) == "[0,[0.5,1],[1,0.666667],[0.9,0.4]]");
}

TEST_CASE("report of labels: curves for the eight rarest labels, with few points and both ends") {
  std::vector<std::string> labels;
  report::Predictions rows{10, {}, {}};
  for (int row = 0; row < 1000; ++row)
    for (int label = 0; label < 10; ++label) {
      if (row == 0) labels.push_back(std::to_string(label));
      rows.predicted.push_back(1 - row / 1000.0);
      rows.actual.push_back(row >= 50 * label);  // label 9 has the fewest rows
    }
  const Json curves = report::precision_recall(labels, rows)["curves"];
  CHECK(curves.size() == 9);
  CHECK(curves[1]["label"] == 9);
  CHECK(curves[8]["label"] == 2);
  CHECK(curves[8]["recall"].size() == 200);
  CHECK(curves[8]["recall"].back() == 1);
  CHECK(curves[8]["precision"][0].get<double>() == doctest::Approx(1 / 101.0).epsilon(1e-5));
  CHECK(curves[8]["precision"].back() == 0.9);
}

TEST_CASE("report of numbers: MAE, RMSE and R² of each target, and a histogram with a bin that starts at 0") {
  const Json figure = report::residuals({{"x", {0}}}, {1, {1, 3, 1, 5}, {1, 2, 3, 6}});
  const Json& x = figure["targets"][0];
  CHECK(figure["rows"] == 4);
  CHECK(fields(x, {"name", "mae", "rmse", "r2", "pairs"}) == R"(["x",1,1.22474,0.571429,4])");
  CHECK(fields(x, {"actual", "predicted"}) == "[[1,2,3,6],[1,3,1,5]]");
  CHECK(x["histogram"].dump() == R"({"from":-1,"width":0.5,"counts":[1,0,1,0,1,0,1],"outside":0})");
  const Json steps = report::residuals({{"y", {0, 1}}, {"z", {2}}}, {3, {1, 10, 5, 2, 11, 5}, {1, 10, 5, 3, 10, 5}});
  CHECK(fields(steps["targets"][0], {"name", "mae", "r2", "pairs"}) == R"(["y",0.5,0.25,4])");  // 1/2 and 0
  CHECK(fields(steps["targets"][1], {"name", "mae", "r2", "pairs"}) == R"(["z",0,1,2])");
  CHECK(steps["targets"][1]["histogram"]["counts"].dump() == "[2]");
}

TEST_CASE("report of numbers: for many rows, a readable histogram and few points") {
  report::Predictions rows{1, {}, {}};
  for (int i = 0; i < 3000; ++i) {
    rows.actual.push_back(i == 7 ? 1e9 : i % 100);
    rows.predicted.push_back(0);
  }
  const Json x = report::residuals({{"x", {0}}}, rows)["targets"][0];
  CHECK(x["actual"].size() == 1000);
  CHECK(x["actual"].back() == 99);
  CHECK(fields(x["histogram"], {"from", "width", "outside"}) == "[0,5,1]");
  CHECK(x["histogram"]["counts"].size() == 20);
  CHECK(x["histogram"]["counts"][0] == 150);
  const std::vector<report::PredictedTarget> many(12, {"x", {0}});
  const Json figure = report::residuals(many, rows);
  CHECK(figure["targets"].size() == 12);
  CHECK(figure["targets"][7].contains("histogram"));
  CHECK_FALSE(figure["targets"][8].contains("histogram"));
  CHECK(figure["targets"][8]["mae"] == x["mae"]);
}

TEST_CASE("report of tags: a span is correct if its type and both ends are correct") {
  const Json figure = report::spans({{{"a", "b", "c", "d"}, {"B-X", "I-X", "O", "B-Y"}, {"B-X", "I-X", "O", "B-X"}},
                                     {{"e", "f", "g"}, {"O", "I-X", "I-X"}, {"O", "B-X", "B-X"}},
                                     {{"h"}, {"O"}, {"O"}},
                                     {{"i", "j"}, {"B-Y", "O"}, {"I-Y", "O"}}});
  const std::vector<std::string> scores{"type", "precision", "recall", "f1", "support", "predicted"};
  CHECK(figure["spans"] == true);
  CHECK(figure["rows"] == 4);
  CHECK(figure["right"] == 2);
  CHECK(figure["types"].size() == 2);
  CHECK(fields(figure["types"][0], scores) == R"(["X",0.25,0.5,0.333333,2,4])");
  CHECK(fields(figure["types"][1], scores) == R"(["Y",1,0.5,0.666667,2,1])");
  CHECK(fields(figure["micro"], {"precision", "recall", "f1", "support"}) == "[0.4,0.5,0.444444,4]");
  const Json& sentences = figure["sentences"];
  CHECK(sentences.size() == 3);  // the third row has no spans
  CHECK(sentences[0].dump() ==
        R"({"words":["a","b","c","d"],"cut":false,"actual":[[0,2,"X"],[3,4,"Y"]],"predicted":[[0,2,"X"],[3,4,"X"]]})");
  CHECK(sentences[1]["predicted"].dump() == R"([[1,2,"X"],[2,3,"X"]])");
  CHECK(sentences[2]["words"][0] == "i");
}

TEST_CASE("report of tags: tags that are not spans count word by word, and long rows are truncated") {
  const Json figure = report::spans({{{"a", "b", "c"}, {"N", "V", "V"}, {"N", "N", "V"}}});
  CHECK(figure["spans"] == false);
  CHECK(fields(figure["types"][0], {"type", "precision", "recall", "support"}) == R"(["V",1,0.5,2])");
  CHECK(fields(figure["types"][1], {"type", "precision", "recall", "support"}) == R"(["N",0.5,1,1])");
  const std::vector<std::string> words(200, "w"), tags(200, "I-X");
  const Json sentence = report::spans({{words, tags, tags}})["sentences"][0];
  CHECK(sentence["words"].size() == 80);
  CHECK(sentence["cut"] == true);
  CHECK(sentence["actual"].dump() == R"([[0,80,"X"]])");
}

TEST_CASE("report of forecasts: errors of each step, with those of the last value and of the previous season") {
  const std::vector<report::ForecastWindow> windows{{{{1, 2, 3}, {}}, {4, 5, 0, 1}, {4, 7, 1, 1}},
                                                    {{{2, 3, 5}, {}}, {5, 6, 2, 2}, {6, 6, 2, 4}}};
  const Json figure = report::forecasts({"a", "b"}, 2, 2, windows);
  const std::vector<std::string> errors{"name", "mae", "mae_last", "mae_season"};
  CHECK(fields(figure["targets"][0], errors) == R"(["a",[0.5,1],[0.5,1.5],[2,1.5]])");
  CHECK(fields(figure["targets"][1], errors) == R"(["b",[0.5,1],null,null])");
  CHECK(figure["windows"].size() == 4);
  CHECK(figure["windows"][1].dump() ==
        R"({"target":"a","number":2,"history":[2,3,5],"actual":[5,6],"predicted":[6,6]})");
  CHECK(figure["windows"][2].dump() == R"({"target":"b","number":1,"history":[],"actual":[0,1],"predicted":[1,1]})");
  const std::vector<report::ForecastWindow> many(101, {{{1}}, {2}, {3}});
  const Json one = report::forecasts({"a"}, 1, 0, many)["windows"];
  CHECK(one.size() == 6);
  CHECK(one[1]["number"] == 21);
  CHECK(one[5]["number"] == 101);
}

TEST_CASE("report of retrieval: recall@k, the share of a random order, and the median rank") {
  // The last two rows have the same label, so that each of them has only two other labels.
  const Json figure = report::retrieval({{0, 3}, {3, 3}, {2, 2}, {1, 2}});
  CHECK(figure["rows"] == 4);
  CHECK(figure["recall"].dump() == "[0.25,0.5,0.75,1]");
  CHECK(figure["chance"].dump() == "[0.291667,0.583333,0.875,1]");  // (k/4 + k/4 + k/3 + k/3) / 4
  CHECK(figure["median_rank"] == 2);
  const Json many = report::retrieval(std::vector<RetrievalRank>(250, {100, 249}));
  CHECK(many["recall"].size() == 100);
  CHECK(many["recall"][99] == 0);
  CHECK(many["chance"][99] == 0.4);
  CHECK(many["median_rank"] == 101);
}

TEST_CASE("report of pictures: the most confident errors, then some correct predictions") {
  LabeledTexts rows;
  rows.picture = {1, 2, 1};
  std::vector<std::vector<double>> probabilities;
  for (int i = 0; i < 60; ++i) {
    rows.texts.push_back({static_cast<char>(i), 'x'});
    rows.labels.push_back(i % 2);
    const double p = 0.6 + i / 200.0;
    probabilities.push_back(i < 40 ? std::vector<double>{p, 1 - p} : std::vector<double>{1 - p, p});
  }  // rows 1, 3, … 39 and 40, 42, … 58 are wrong
  const Json figure = report::picture_grid({"no", "yes"}, rows, probabilities), &pictures = figure["pictures"];
  CHECK(fields(figure, {"rows", "right", "wrong"}) == "[60,30,30]");
  CHECK(pictures.size() == 24);
  CHECK(
      pictures[0].dump() ==
      R"({"actual":0,"predicted":1,"probability":0.89,"picture":{"height":1,"width":2,"channels":1,"pixels":"Ong="}})");
  CHECK(pictures[15]["probability"] == 0.745);
  CHECK(pictures[16]["picture"]["pixels"] == "AHg=");  // row 0
  CHECK(pictures[23]["actual"] == 1);
  CHECK(pictures[23]["probability"] == 0.895);
}

TEST_CASE("report of pictures: large pictures are reduced by averaging blocks") {
  LabeledTexts rows;
  rows.picture = {2, 100, 3};
  rows.texts.emplace_back();
  for (int i = 0; i < 2 * 100 * 3; ++i) rows.texts[0] += static_cast<char>(i % 3 == 0 ? 250 : i / 300);
  const Json picture = report::drawn_picture(rows, 0);
  CHECK(fields(picture, {"height", "width", "channels"}) == "[1,50,3]");
  CHECK(picture["pixels"].get<std::string>().substr(0, 8) == "+gEB+gEB");  // 250, 1, 1: the mean of 0 and 1 rounds up
}

}  // namespace weft::test
