// Tests of layers that list their parameters and parts in fields(): which parameters are collected, and under which
// names.
#include <doctest/doctest.h>

#include "weft/layers.h"

namespace weft::test {
namespace {

// A part that defines its own collect().
struct ByHand {
  void collect(const std::string& prefix, NamedParameters& out) const { out.emplace_back(prefix + "own", one); }
  Parameter one{Tensor::zeros({1})};
};

// A part that lists its fields and has no base class.
struct Plain {
  template <class Visit>
  void fields(Visit visit) const {
    visit("first", one);
  }
  Parameter one{Tensor::zeros({1})};
};

struct Whole : Layer<Whole> {
  template <class Visit>
  void fields(Visit visit) const {
    visit("scale", scale);
    visit("missing", missing);
    visit("hand", hand);
    visit("", nameless);
    visit("none", none);
    visit("some", some);
    visit("list", list);
    visit("empty", empty);
    visit("proj", proj);
  }
  Parameter scale{Tensor::zeros({2})}, missing;
  ByHand hand;
  Plain nameless;
  std::optional<Plain> none, some{Plain()};
  std::vector<Plain> list{2}, empty;
  Linear proj{2, 3, {}, false};
};

}  // namespace

TEST_CASE("fields: parameters by name, in the order of the list, without absent parts") {
  const Whole whole;
  NamedParameters collected;
  whole.collect("a.", collected);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : collected) names.push_back(name);
  CHECK(names == std::vector<std::string>{"a.scale", "a.hand.own", "a.first", "a.some.first", "a.list.0.first",
                                          "a.list.1.first", "a.proj.weight"});
  CHECK(parameters_of(whole).front().first == "scale");
  CHECK(parameters_of(whole).front().second.id() == whole.scale.id());
  CHECK(parameters_of(Linear(2, 3, {})).size() == 2);
}

}  // namespace weft::test
