// Tests of configs, whose list of fields must have every field of the struct, so that it is read, checked and saved.
// Also tests models that have only shapes.
#include "weft/config.h"

#include <doctest/doctest.h>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/fnet.h"
#include "weft/gmlp.h"
#include "weft/tnn.h"

namespace weft::test {
namespace {

template <bool whole>
struct Listed {
  std::int64_t size = 1;
  bool tied = true;
  double scale = 2;
  std::string name = "x";
  bool forgotten = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("size", self.size, "");
    visit("tied", self.tied, "");
    visit("scale", self.scale, "");
    visit("name", self.name, "");
    if constexpr (whole) visit("forgotten", self.forgotten, "");
  }
};

// Not a plain struct, so it may list any fields.
struct Own {
  Own() : hidden(3) {}
  std::int64_t size = 1, hidden;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("size", self.size, "");
  }
};

// weft's own configs list all their fields.
static_assert(detail::count_fields<GmlpConfig>() == 7);
static_assert(detail::count_fields<TnnConfig>() == 30);
static_assert(detail::count_fields<FnetConfig>() == 14);

}  // namespace

TEST_CASE("config: a field that isn't listed is an error wherever the list is used") {
  CHECK(config_to_json(Listed<true>()) == R"({"size":1,"tied":true,"scale":2.0,"name":"x","forgotten":false})");
  CHECK(config_fields<Listed<true>>().size() == 5);
  const char* const error =
      "[config] expected fields() to list all 5 fields of the struct, got only 4: size, tied, scale, name";
  CHECK_THROWS_WITH_AS(config_to_json(Listed<false>()), error, Error);
  CHECK_THROWS_WITH_AS(config_from_json<Listed<false>>("here", "{}"), error, Error);
  CHECK_THROWS_WITH_AS(config_fields<Listed<false>>(), error, Error);
  CHECK(config_to_json(Own()) == R"({"size":1})");
}

TEST_CASE("config: a field that was added later is written unless it has its default, and specs from structs") {
  FnetConfig fnet;
  fnet.layers = 3;
  CHECK(config_to_json(fnet).find("tied") == std::string::npos);
  fnet.tied = false;
  CHECK(config_to_json(fnet).find(R"("dropout":0.0,"tied":false})") != std::string::npos);
  CHECK(config_from_json<FnetConfig>("fnet", config_to_json(fnet)).tied == false);
  CHECK(config_fields<FnetConfig>().size() == 14);
  const ModelSpec spec = model_spec(fnet, Task::masked_lm, 11);
  CHECK(spec.arch == "fnet");
  CHECK(spec.task == Task::masked_lm);
  CHECK(spec.vocabulary == 11);
  CHECK(config_from_json<FnetConfig>("fnet", spec.config).layers == 3);
  GmlpConfig gmlp;
  gmlp.layers = 1;
  CHECK(make_model(model_spec(gmlp, Task::classifier, 7, 3), {})->outputs() == 3);
  TnnConfig tnn;
  tnn.layers = 1;
  tnn.d_model = 8;
  CHECK(make_model(model_spec(tnn, Task::causal_lm, 7), {})->arch() == std::string("tnn"));
}

TEST_CASE("config: an error for a value of a wrong type names the expected type") {
  const auto error = [](const std::string& json) -> std::string {
    try {
      (void)config_from_json<Listed<true>>("here", json);
    } catch (const Error& thrown) {
      return thrown.what();
    }
    return "";
  };
  const std::string wrong = " has the wrong type: ";
  CHECK(error(R"({"size":2.5})") == "[here] the value of \"size\"" + wrong + "2.5, expected a whole number below 2^63");
  CHECK(error(R"({"size":9223372036854775808})") ==
        "[here] the value of \"size\"" + wrong + "9223372036854775808, expected a whole number below 2^63");
  CHECK(error(R"({"size":9223372036854775807})") == "");
  CHECK(error(R"({"size":-9223372036854775808})") == "");
  CHECK(error(R"({"tied":1})") == "[here] the value of \"tied\"" + wrong + "1, expected true or false");
  CHECK(error(R"({"scale":null})") == "[here] the value of \"scale\"" + wrong + "null, expected a number");
  CHECK(error(R"({"scale":18446744073709551615})") == "");
  CHECK(error(R"({"name":3})") == "[here] the value of \"name\"" + wrong + "3, expected a string");
}

namespace {

struct Ranges {
  std::int64_t size = 2, any = -5;
  double part = 0.5;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("size", self.size, "", at_least(2));
    visit("any", self.any, "");
    visit("part", self.part, "", probability(), Written::unless_default);
  }
};

}  // namespace

TEST_CASE("config: numbers must be in their ranges") {
  const auto error = [](const std::string& json) -> std::string {
    try {
      (void)config_from_json<Ranges>("here", json);
    } catch (const Error& thrown) {
      return thrown.what();
    }
    return "";
  };
  for (const char* good : {R"({"size":2})", R"({"size":2147483647})", R"({"any":-9223372036854775808})",
                           R"({"part":0})", R"({"part":0.999})"})
    CHECK(error(good) == "");
  CHECK(error(R"({"size":1})") == "[here] expected size of 2 to 2147483647, got 1");
  CHECK(error(R"({"size":2147483648})") == "[here] expected size of 2 to 2147483647, got 2147483648");
  CHECK(error(R"({"part":1})") == "[here] expected 0 <= part < 1, got 1.000000");
  CHECK(error(R"({"part":-0.5})") == "[here] expected 0 <= part < 1, got -0.500000");
  CHECK(config_to_json(Ranges()) == R"({"size":2,"any":-5})");
  for (const std::string& arch : own_architectures) {
    const std::string dropout = "[" + arch + "] expected 0 <= dropout < 1, got ";
    const auto make = [&](const std::string& config) { (void)make_model({arch, Task::classifier, 7, 3, config}, {}); };
    CHECK_THROWS_WITH_AS(make(R"({"dropout":1})"), (dropout + "1.000000").c_str(), Error);
    CHECK_THROWS_WITH_AS(make(R"({"dropout":-0.1})"), (dropout + "-0.100000").c_str(), Error);
    for (const char* size : {"d_model", "seq_len"})
      CHECK_THROWS_WITH_AS(make(std::string("{\"") + size + "\":0}"),
                           ("[" + arch + "] expected " + size + " of 1 to 2147483647, got 0").c_str(), Error);
    CHECK_THROWS_WITH_AS(make(R"({"layers":-1})"),
                         ("[" + arch + "] expected layers of 0 to 2147483647, got -1").c_str(), Error);
  }
}

TEST_CASE("config: activations are written by their standard names") {
  const auto config = [](const char* arch, Task task, const char* text) {
    return make_model({arch, task, 7, 0, text}, {})->config();
  };
  const std::string tnn = config("tnn", Task::causal_lm,
                                 R"({"d_model":6,"layers":1,"act":"leak","rpe_act":"swish","glu_act":"leaky_relu"})");
  CHECK(tnn.find(R"("act":"leaky_relu")") != std::string::npos);
  CHECK(tnn.find(R"("rpe_act":"silu")") != std::string::npos);
  CHECK(tnn.find(R"("glu_act":"leaky_relu")") != std::string::npos);
  const std::string fnet = config("fnet", Task::masked_lm, R"({"d_model":6,"layers":1,"activation":"gelu_new"})");
  CHECK(fnet.find(R"("activation":"gelu_tanh")") != std::string::npos);
}

TEST_CASE("models that have only shapes: the same parameters, each stored as one element") {
  for (const std::string& arch : own_architectures)
    for (Task task : architecture(arch).tasks) {
      CAPTURE(arch);
      const ModelSpec spec{arch, task, 7, 3, R"({"layers":2,"d_model":6})"};
      Init shapes;
      shapes.shapes_only = true;
      const auto model = make_model(spec, {}), outline = make_model(spec, shapes);
      CHECK(outline->config() == model->config());
      const NamedParameters whole = model->parameters(), planned = outline->parameters();
      REQUIRE(planned.size() == whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(whole[i].first);
        CHECK(planned[i].first == whole[i].first);
        const Tensor &value = whole[i].second.value(), &plan = planned[i].second.value();
        CHECK(plan.shape() == value.shape());
        CHECK(plan.dtype() == value.dtype());
        for (std::int64_t stride : plan.strides()) CHECK((stride == 0 || plan.numel() == 1));
      }
      CHECK(parameter_count(planned) == parameter_count(whole));
    }
  Init shapes;
  shapes.shapes_only = true;
  ParameterBudget budget{100, 1000};
  shapes.budget = &budget;
  CHECK_THROWS_AS(make_model({"tnn", Task::causal_lm, 7, 0, R"({"layers":0,"d_model":1000})"}, shapes), Error);
}

TEST_CASE("read_text: it drops a byte order mark and reports errors") {
  const TemporaryFolder folder;
  const std::string mark = "\xEF\xBB\xBF";
  const auto read = [&](const std::string& text) {
    folder.write("text", text);
    return read_text(folder / "text");
  };
  CHECK(read(mark + "a") == "a");
  CHECK(read("a" + mark) == "a" + mark);
  CHECK(read(mark + mark) == mark);
  CHECK(read("\xEF\xBB\xBE") == "\xEF\xBB\xBE");
  CHECK_THROWS_WITH_AS(read(mark), doctest::Contains("is empty"), Error);
  CHECK_THROWS_WITH_AS(read(""), doctest::Contains("is empty"), Error);
  CHECK_THROWS_WITH_AS(read(mark + "\xFF"), doctest::Contains("invalid UTF-8 at byte 3"), Error);
}

TEST_CASE("check_batch: each reason for an error separately") {
  CHECK_NOTHROW(check_batch("here", 2, 2, 1));
  CHECK_THROWS_WITH_AS(check_batch("here", 1, 2, 1), "[here] expected sequences of at least 2 tokens, got 1", Error);
  CHECK_THROWS_WITH_AS(check_batch("here", 2, 2, 0), "[here] expected a batch of at least 1 sequence, got 0", Error);
  CHECK_THROWS_WITH_AS(check_batch("here", 1000000, 2, 1000000000000),
                       "[here] a batch of 1000000000000 sequences of 1000000 tokens doesn't fit into memory: choose a "
                       "smaller batch or shorter sequences",
                       Error);
}

}  // namespace weft::test
