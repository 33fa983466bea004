// Tests of the guarantees that a gradient sink relies on.
#include <doctest/doctest.h>

#include "op_table.h"

namespace weft::test {
namespace {

// Records the calls that it receives, and calls `each` for every gradient.
class RecordingSink : public GradientSink {
 public:
  explicit RecordingSink(std::function<void(const Leaf&, Tensor&)> f) : each(std::move(f)) {}
  void begin(const std::vector<Leaf>& all) override { leaves = static_cast<std::int64_t>(all.size()); }
  void complete(const Leaf& leaf, Tensor gradient) override {
    each(leaf, gradient);
    gradients.push_back(gradient);
  }
  std::function<void(const Leaf&, Tensor&)> each;
  std::int64_t leaves = -1;
  std::vector<Tensor> gradients;
};

}  // namespace

TEST_CASE("a sink receives all leaves first, then each gradient with elements of its own") {
  Tape tape;
  const Tensor a = tape.watch(Tensor::full({3}, 1)), b = tape.watch(Tensor::full({3}, 2)),
               unused = tape.watch(Tensor::zeros({1}));
  const Tensor y = sum(add(a, b));
  RecordingSink sink([](const Leaf&, Tensor& gradient) {
    CHECK(gradient.is_contiguous());
    float* p = gradient.mutable_data<float>();
    for (int i = 0; i < 3; ++i) p[i] *= 0.5f;
  });
  tape.backward(y, sink);
  CHECK(sink.leaves == 3);
  REQUIRE(sink.gradients.size() == 2);
  for (const Tensor& gradient : sink.gradients)
    CHECK(gradient.to_vector<float>() == std::vector<float>{0.5f, 0.5f, 0.5f});
}

TEST_CASE("backward throws if a sink writes a tensor that backward still needs") {
  const Parameter p(Tensor::full({1}, 2)), q(Tensor::full({1}, 3));
  Tape tape;
  const Tensor pp = mul(p, p);
  const Tensor y = sum(mul(pp, q));  // q is complete before backward reaches p's records
  RecordingSink sink([&](const Leaf& leaf, Tensor&) {
    if (leaf.parameter != q.id()) return;
    Parameter written = p;
    written.assign(Tensor::zeros({1}));
  });
  CHECK_THROWS_AS(tape.backward(y, sink), Error);
}

TEST_CASE("gradients of tensors that are not leaves are refused") {
  Tape tape;
  const Tensor x = tape.watch(Tensor::full({1}, 2));
  const Tensor h = mul(x, x);
  Gradients gradients;
  tape.backward(sum(mul(h, h)), gradients);
  CHECK(gradients.of(x).item() == 32);
  CHECK_THROWS_AS(gradients.of(h), Error);
  Tape other;
  CHECK_THROWS_AS(gradients.of(other.watch(x)), Error);
}

TEST_CASE("a parameter may be assigned a view of itself") {
  Parameter p(Tensor::from<float>({1, 2, 3, 4}, {4}));
  p.assign(flip(p.value(), 0));
  CHECK(p.value().to_vector<float>() == std::vector<float>{4, 3, 2, 1});
}

TEST_CASE("a slice's step may be larger than the axis") {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {4});
  CHECK(slice(x, 0, 1, 4, INT64_MAX).to_vector<float>() == std::vector<float>{2});
  CHECK_THROWS_AS(reshape(x, {-1, INT64_MAX, 4}), Error);
}

}  // namespace weft::test
