// Tape: gradients of parts of a tensor.
#include <doctest/doctest.h>

#include "engine_ops.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

// y = the sum of a part and of the whole. Backward gives the part's gradient as `how` says.
enum class How { in_its_place, elsewhere, too_late };  // too_late: what is added to the whole comes first
struct PartAndWhole : Op {
  explicit PartAndWhole(How h) : how(h) {}
  const char* name() const noexcept override { return "test part and whole"; }
  Shape shape(const Inputs&) const override { return {}; }
  Tensor forward(const Inputs& in, const Shape&) override {
    double sum = 0;
    for (const Tensor& x : in)
      for (double v : x.to_vector<double>()) sum += v;
    return Tensor::scalar(sum, DType::f64);
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    Tensor place = b.place(0);
    const Tensor ones = Tensor::full(b.input_shape(1), 1, DType::f64);
    if (how == How::too_late) b.add(1, ones);
    raw::fill(place, 1);
    b.add(0, how == How::elsewhere ? Tensor::full(b.input_shape(0), 1, DType::f64) : place);
    if (how != How::too_late) b.add(1, ones);
  }
  How how;
};

}  // namespace

TEST_CASE("tape: a part's gradient is written in its place, before anything is added to the whole's") {
  for (const How how : {How::in_its_place, How::elsewhere, How::too_late}) {
    Tape tape;
    const Tensor x = tape.watch(vector_of({1, 2, 3, 4, 5}));
    const Tensor y = apply(PartAndWhole(how), {apply(Slice(1, 3), {x}), x});
    Gradients gradients;
    if (how == How::too_late) {
      CHECK_THROWS_WITH_AS(tape.backward(y, gradients), "[tape] backward adds to a tensor before it has written a part of it",
                           Error);
    } else {
      tape.backward(y, gradients);
      CHECK(values_of(gradients.of(x)) == Values{1, 2, 2, 1, 1});
    }
  }
}

namespace {

// y = the sum of two inputs. Backward takes the second's place and gives the first's gradient before it.
struct PlaceOfAnother : PartAndWhole {
  PlaceOfAnother() : PartAndWhole(How::in_its_place) {}
  void backward(Backward& b) const override {
    Tensor place = b.place(1);
    raw::fill(place, 1);
    b.add(0, Tensor::full(b.input_shape(0), 2, DType::f64));
    b.add(1, place);
  }
};

}  // namespace

TEST_CASE("tape: a place is for one input, even if another is the same tensor") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3})), part = apply(Slice(1, 3), {x}), other = apply(Slice(0, 2), {x});
  Gradients gradients;
  SUBCASE("two parts") {
    tape.backward(apply(PlaceOfAnother(), {other, part}), gradients);
    CHECK(values_of(gradients.of(x)) == Values{2, 3, 1});
  }
  SUBCASE("one part twice") {
    CHECK_THROWS_AS(tape.backward(apply(PlaceOfAnother(), {part, part}), gradients), Error);
  }
}
