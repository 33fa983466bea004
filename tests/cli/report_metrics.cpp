// Tests how a run's metrics.jsonl becomes the curves of a report.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "command.h"
#include "report/metrics.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using report::Json;
using report::parse_metrics;

std::string message(const std::string& text) {
  try {
    (void)parse_metrics(text, "m");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("report's curves: steps, evaluations with the times of their steps, and the best evaluation") {
  const Json m = parse_metrics(
      "{\"step\":1,\"loss\":3.0,\"learning_rate\":0.1,\"seconds\":0.5}\n"
      "{\"step\":2,\"loss\":2.0,\"seconds\":1.0,\"tokens_per_second\":50}\n"
      "{\"step\":2,\"validation_loss\":2.25,\"predicted\":9,\"accuracy\":0.5}\n"
      "{\"step\":3,\"learning_rate\":0.05,\"seconds\":1.5}\n"
      "{\"step\":4,\"loss\":null,\"seconds\":2}\n"
      "{\"step\":4,\"validation_loss\":2.125,\"accuracy\":0.25}\n"
      "{\"step\":5,\"loss\":1,\"seconds\":2.5,\"tokens_per_second\":null}\n"
      "{\"step\":5,\"validation_loss\":null}\n",
      "m");
  CHECK(m["training"]["step"].dump() == "[1,2,3,4,5]");
  CHECK(m["training"]["loss"].dump() == "[3,2,null,null,1]");
  CHECK(m["training"]["learning_rate"].dump() == "[0.1,null,0.05,null,null]");
  CHECK(m["training"]["seconds"].dump() == "[0.5,1,1.5,2,2.5]");
  CHECK_FALSE(m["training"].contains("low"));
  CHECK(m["evaluations"]["step"].dump() == "[2,4,5]");
  CHECK(m["evaluations"]["seconds"].dump() == "[1,2,2.5]");
  CHECK(m["evaluations"]["validation_loss"].dump() == "[2.25,2.125,null]");
  CHECK(m["evaluations"]["accuracy"].dump() == "[0.5,0.25,null]");
  CHECK(m["best"]["step"] == 4);
  CHECK(m["best"]["accuracy"] == 0.25);
  CHECK(m["last_step"] == 5);
  CHECK(m["no_loss"] == 1);
  CHECK(m["tokens_per_second"] == 50);
  CHECK(m["seconds"] == 2.5);
}

TEST_CASE("report's curves: among equal losses the first is the best, as in the run") {
  const Json m = parse_metrics(
      "{\"step\":2,\"validation_loss\":2.5}\n{\"step\":4,\"validation_loss\":2}\n"
      "{\"step\":6,\"validation_loss\":2}\n{\"step\":8,\"validation_loss\":2.25}\n",
      "m");
  CHECK(m["best"]["step"] == 4);
}

TEST_CASE("report's curves: a run's test is not a point, and the run's measure chooses the best") {
  const std::string text =
      "{\"step\":2,\"loss\":2.0,\"seconds\":1.0}\n"
      "{\"step\":2,\"validation_loss\":2.25,\"accuracy\":0.5}\n"
      "{\"step\":4,\"loss\":1.0,\"seconds\":2.0}\n"
      "{\"step\":4,\"validation_loss\":2.5,\"accuracy\":0.75}\n"
      "{\"step\":6,\"loss\":1.0,\"seconds\":3.0}\n"
      "{\"step\":6,\"validation_loss\":2.125,\"accuracy\":0.5}\n"
      "{\"step\":8,\"validation_loss\":2.375,\"accuracy\":0.75}\n";
  CHECK(parse_metrics(text, "m")["test"].is_null());
  const Json m = parse_metrics(text + "{\"step\":4,\"test_loss\":1.5,\"predicted\":9,\"accuracy\":0.25}\n", "m",
                               {"accuracy", false});
  CHECK(m["test"]["step"] == 4);
  CHECK(m["test"]["test_loss"] == 1.5);
  CHECK(m["test"]["accuracy"] == 0.25);
  CHECK(m["evaluations"]["step"].dump() == "[2,4,6,8]");
  CHECK_FALSE(m["evaluations"].contains("test_loss"));
  CHECK(m["last_step"] == 8);
  CHECK(m["best"]["step"] == 8);  // among equal metrics, the one with the lower loss
  CHECK(parse_metrics(text, "m", {"accuracy", true})["best"]["step"] == 6);  // as if it were an error
  CHECK(parse_metrics(text, "m")["best"]["step"] == 6);
  const std::string missing =
      "{\"step\":2,\"validation_loss\":3,\"accuracy\":0.9}\n{\"step\":4,\"validation_loss\":2,\"accuracy\":null}\n"
      "{\"step\":6,\"validation_loss\":1,\"accuracy\":0.6}\n";
  CHECK(parse_metrics(missing, "m", {"accuracy", false})["best"]["step"] == 2);
  CHECK(message("{\"step\":1,\"test_loss\":\"x\"}\n") ==
        "\"m\" line 1: expected \"test_loss\" to be a number, got \"x\"");
}

TEST_CASE("report's curves: no step, one step, and a truncated last line") {
  const Json none = parse_metrics("", "m");
  CHECK(none["last_step"].is_null());
  CHECK(none["best"].is_null());
  CHECK(parse_metrics("{\"step\":1,\"loss\":3}", "m")["last_step"] == 1);  // complete except for its line break
  for (const std::string cut : {"{", "{\"step\":2", "{\"step\":2,\"loss\":1.5", "12"}) {
    CAPTURE(cut);
    CHECK(parse_metrics("{\"step\":1,\"loss\":3}\n" + cut, "m")["training"]["step"].dump() == "[1]");
    CHECK(message("{\"step\":1,\"loss\":3}\n" + cut + "\n") != "");
  }
}

TEST_CASE("report's curves: a hundred thousand steps are reduced to fewer points, which keep their means and ends") {
  std::string text;
  for (int i = 1; i <= 100000; ++i) {
    text += "{\"step\":" + std::to_string(i) + ",\"loss\":" + std::to_string(i % 2) + "}\n";
    if (i % 1000 == 0)
      text += "{\"step\":" + std::to_string(i) + ",\"validation_loss\":" + std::to_string(1e6 - i) + "}\n";
  }
  const Json m = parse_metrics(text, "m"), training = m["training"];
  CHECK(training["step"].size() <= 300);
  CHECK(training["step"].size() > 200);
  CHECK(training["step"].back() == 100000);
  CHECK(training["step"][0] == 334);
  CHECK(training["loss"][0] == 0.5);
  CHECK(training["low"][0] == 0);
  CHECK(training["high"][0] == 1);
  CHECK(training["seconds"][0].is_null());
  CHECK(m["evaluations"]["step"].size() == 100);
  CHECK(m["best"]["step"] == 100000);
}

TEST_CASE("report's curves: an error for an invalid line names its number") {
  const std::string good = "{\"step\":2,\"loss\":1}\n";
  CHECK(message(good + "x\n") == "\"m\" line 2: expected a JSON object, got \"x\"");
  CHECK(message(good + "\n" + good) == "\"m\" line 2: expected a JSON object, got \"\"");
  CHECK(message("[1]\n") == "\"m\" line 1: expected a JSON object, got \"[1]\"");
  CHECK(message(good + "{\"loss\":1}\n") ==
        "\"m\" line 2: expected \"step\" to be a whole number, got \"{\\\"loss\\\":1}\"");
  CHECK(contains(message("{\"step\":1.5}\n"), "line 1: expected \"step\" to be a whole number"));
  CHECK(message(good + good + "{\"step\":1,\"loss\":1}\n") == "\"m\" line 3: step 1 comes after a later step");
  CHECK(message("{\"step\":1,\"loss\":\"x\"}\n") == "\"m\" line 1: expected \"loss\" to be a number, got \"x\"");
  CHECK(message("{\"step\":1,\"validation_loss\":[]}\n") ==
        "\"m\" line 1: expected \"validation_loss\" to be a number, got []");
  CHECK(contains(message("{\"step\":1,\"loss\":NaN}\n"), "line 1: expected a JSON object"));
  CHECK(message(good + std::string(100, '[') + "\n") != "");
  CHECK(message("\xff\n") != "");
}

}  // namespace weft::test
