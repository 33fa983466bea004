// Tests of gradients of parts of a tensor.
#include <doctest/doctest.h>

#include "engine_ops.h"
#include "tape/gradient.h"

using namespace weft;
using namespace weft::detail;
using namespace weft::engine_test;

namespace {

// y = the sum of all elements of all inputs. Backward gives input i a gradient of i + 1 and writes it as `how` says.
enum class How { in_its_place, elsewhere, by_add };
struct SumOfAll : Op {
  explicit SumOfAll(How h, int* places) : how(h), places_given(places) {}
  const char* name() const noexcept override { return "test sum of all"; }
  Shape shape(const Inputs&) const override { return {}; }
  Tensor forward(const Inputs& in, const Shape&) override {
    double sum = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      for (double v : in[i].to_vector<double>()) sum += v;
    inputs = in.size();
    return Tensor::scalar(sum, DType::f64);
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    for (std::size_t i = 0; i < inputs; ++i) {
      const double value = static_cast<double>(i + 1);
      if (how == How::by_add) {
        b.add(i, Tensor::full(b.input_shape(i), value, DType::f64));
        continue;
      }
      b.write(i, [&](Tensor& dx) {
        *places_given += dx.defined();
        if (!dx.defined() || how == How::elsewhere) dx = Tensor::empty(b.input_shape(i), DType::f64);
        raw::fill(dx, value);
      });
    }
  }
  How how;
  int* places_given;
  std::size_t inputs = 0;
};

struct Result {
  Values dx;
  int places = 0;
};

// The gradient of x (1, 2, 3, 4, 5), if SumOfAll has these ranges of x as inputs. {0, 0} stands for x itself.
Result gradient_of_ranges(How how, const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  Result result;
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3, 4, 5}));
  Inputs parts;
  for (const auto& [start, stop] : ranges) parts.push_back(stop == 0 ? x : apply_op(Slice(start, stop), {x}));
  Gradients gradients;
  tape.backward(weft::apply_op(SumOfAll(how, &result.places), parts), gradients);
  result.dx = values_of(gradients.of(x));
  return result;
}

}  // namespace

TEST_CASE("tape: gradients of parts are written in place, whatever else is added to the whole tensor") {
  const struct {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    Values dx;
    int places;
  } cases[] = {
      {{{1, 3}}, {0, 1, 1, 0, 0}, 1},          // zeros around it
      {{{0, 2}, {2, 5}}, {1, 1, 2, 2, 2}, 2},  // the parts cover the whole tensor, so no zeros are needed
      {{{2, 5}, {0, 2}}, {2, 2, 1, 1, 1}, 2},
      {{{0, 5}}, {1, 1, 1, 1, 1}, 1},
      {{{1, 3}, {0, 0}}, {2, 3, 3, 2, 2}, 1},          // the whole tensor after a part
      {{{0, 0}, {1, 3}}, {1, 3, 3, 1, 1}, 0},          // a part after the whole tensor
      {{{1, 3}, {0, 0}, {3, 5}}, {2, 3, 3, 5, 5}, 1},  // the rest is already filled
      {{{1, 3}, {2, 4}}, {0, 1, 3, 2, 0}, 1},          // overlapping parts
      {{{1, 3}, {1, 3}}, {0, 3, 3, 0, 0}, 1},          // two slices of the same part
  };
  for (How how : {How::in_its_place, How::elsewhere, How::by_add})
    for (const auto& c : cases) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(c.dx);
      const Result got = gradient_of_ranges(how, c.ranges);
      CHECK(got.dx == c.dx);
      CHECK(got.places == (how == How::by_add ? 0 : c.places));
    }
}

TEST_CASE("tape: the same part is used twice") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3})), part = apply_op(Slice(1, 3), {x});
  Gradients gradients;
  int places = 0;
  tape.backward(apply_op(SumOfAll(How::in_its_place, &places), {part, part}), gradients);
  CHECK(values_of(gradients.of(x)) == Values{0, 3, 3});
}

TEST_CASE("gradient: blank parts stand for zeros until something is added") {
  const Slice first(0, 2), middle(1, 2), rest(2, 4);
  Gradient g;
  CHECK_FALSE(g.defined());
  Tensor claimed = g.claim_part(first, {4}, DType::f64);
  REQUIRE(claimed.defined());
  raw::fill(claimed, 5);
  CHECK(g.has_blank_parts());
  SUBCASE("a part that is not or only partly blank is not handed out again") {
    CHECK_FALSE(g.claim_part(first, {4}, DType::f64).defined());
    CHECK_FALSE(g.claim_part(middle, {4}, DType::f64).defined());
    Tensor last = g.claim_part(rest, {4}, DType::f64);
    REQUIRE(last.defined());
    CHECK_FALSE(g.has_blank_parts());
  }
  SUBCASE("the sum is read") {
    g.add_part(first, {4}, vector_of({1, 2}));
    CHECK_FALSE(g.has_blank_parts());
    CHECK(values_of(g.sum()) == Values{6, 7, 0, 0});
  }
  SUBCASE("the gradient is taken") {
    g.add_part(rest, {4}, vector_of({3, 4}));
    const Tensor sum = g.take();
    CHECK(values_of(sum) == Values{5, 5, 3, 4});
    CHECK_FALSE(g.defined());
  }
}

TEST_CASE("gradient: a sum that another holder uses, too, is not overwritten") {
  Gradient g;
  const Tensor mine = vector_of({1, 2});
  g.add(mine);
  g.add_part(Slice(0, 1), {2}, vector_of({10}));
  CHECK(values_of(mine) == Values{1, 2});
  CHECK(values_of(g.sum()) == Values{11, 2});
  const Tensor kept = g.sum();
  g.add(vector_of({1, 1}));
  CHECK(values_of(kept) == Values{11, 2});
  CHECK(values_of(g.take()) == Values{12, 3});
}

TEST_CASE("gradient: a sum whose elements share memory is not written in place") {
  for (const bool first : {true, false}) {
    Gradient g;
    for (const bool repeated : {first, !first})
      g.add(repeated ? vector_of({5}).view({3}, {0}, 0) : vector_of({1, 2, 3}).view({3}, {1}, 0));
    g.add(vector_of({5}).view({3}, {0}, 0));
    CHECK(values_of(g.take()) == Values{11, 12, 13});
    g.add(vector_of({5}).view({3}, {0}, 0));
    g.add(vector_of({5}).view({3}, {0}, 0));
    CHECK(values_of(g.take()) == Values{10, 10, 10});
  }
}

TEST_CASE("gradient: borrowed elements are copied before anything is added to them") {
  static const double elements[] = {1, 2};
  Gradient g;
  g.add(Tensor::borrow(nullptr, elements, {2}, DType::f64));
  g.add(vector_of({1, 1}));
  CHECK(values_of(g.take()) == Values{2, 3});
  CHECK(elements[0] == 1);
}

TEST_CASE("tape: only a contribution of the right shape and dtype is written into a part's place") {
  struct Wrong : SumOfAll {
    using SumOfAll::SumOfAll;
    void backward(Backward& b) const override {
      b.write(0, [](Tensor& dx) { dx = Tensor::zeros({7}, DType::f64); });
    }
  };
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3}));
  Gradients gradients;
  CHECK_THROWS_WITH_AS(tape.backward(apply_op(Wrong(How::elsewhere, nullptr), {apply_op(Slice(1, 3), {x})}), gradients),
                       doctest::Contains("got an f64 tensor of shape (7,)"), Error);
}
