// Tests of Tensor, Parameter and ParameterSet: shapes that overflow, views, versions, flat buffers.
#include "weft/tensor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "engine_ops.h"
#include "weft/context.h"
#include "weft/detail/rebind.h"
#include "weft/parameter_set.h"

using namespace weft;
using namespace weft::detail;
using namespace weft::engine_test;

TEST_CASE("tensor: shapes that are negative, overflow or exceed memory are errors") {
  const std::size_t before = Context::current().memory().use().current;
  const std::int64_t big = std::int64_t{1} << 32;
  for (const Shape& shape : {Shape{-1}, Shape{2, -3}, Shape{big, big}, Shape{big, big, 0}, Shape{INT64_MAX},
                             Shape{INT64_MAX, INT64_MAX}, Shape{INT64_MIN}, Shape{big, big, big, big}}) {
    CAPTURE(to_string(shape));
    CHECK_THROWS_AS(numel(shape), Error);
    CHECK_THROWS_AS(Tensor::empty(shape), Error);
    CHECK_THROWS_AS(Tensor::zeros(shape, DType::c128), Error);
  }
  CHECK_THROWS_WITH_AS(Tensor::empty({std::int64_t{1} << 50}), doctest::Contains("bytes"), Error);
  CHECK_THROWS_AS(Tensor::empty({std::int64_t{1} << 57}, DType::c128), Error);
  CHECK_THROWS_AS(Tensor::from<float>({1, 2, 3}, {2}), Error);
  CHECK_THROWS_AS(Tensor::from<float>({}, {big, big}), Error);
  CHECK(numel({}) == 1);
  CHECK(numel({3, 0, 5}) == 0);
  CHECK(Context::current().memory().use().current == before);
}

TEST_CASE("tensor: views stay inside their storage") {
  const Tensor x = vector_of({0, 1, 2, 3, 4, 5});
  CHECK(values_of(x.view({2, 2}, {3, 1}, 1)) == Values{1, 2, 4, 5});
  CHECK(values_of(x.view({3}, {-2}, 5)) == Values{5, 3, 1});
  CHECK(values_of(x.view({2, 2}, {0, 1}, 4)) == Values{4, 5, 4, 5});
  CHECK(x.view({0}, {1}, 6).numel() == 0);
  CHECK(values_of(x.view({}, {}, 5)) == Values{5});
  CHECK_THROWS_AS(x.view({7}, {1}, 0), Error);
  CHECK_THROWS_AS(x.view({6}, {1}, 1), Error);
  CHECK_THROWS_AS(x.view({2}, {1}, -1), Error);
  CHECK_THROWS_AS(x.view({}, {}, 6), Error);
  CHECK_THROWS_AS(x.view({3}, {-2}, 3), Error);
  CHECK_THROWS_AS(x.view({2, 2}, {1}, 0), Error);
  CHECK_THROWS_AS(x.view({2}, {INT64_MAX}, 1), Error);
  CHECK_THROWS_AS(x.view({3}, {INT64_MIN}, 5), Error);
  CHECK_THROWS_AS(x.view({std::int64_t{1} << 57}, {1024}, 0), Error);
  CHECK_THROWS_AS(x.view({3, 3}, {INT64_MAX / 2, INT64_MAX / 2}, 0), Error);
  CHECK_THROWS_AS(Tensor().view({1}, {1}, 0), Error);
}

TEST_CASE("tensor: copies and moved-from tensors have their own axes") {
  Tensor a = Tensor::zeros({2, 3});
  const Tensor copy = a;
  const Shape& shape = copy.shape();
  a = Tensor::zeros({5});
  CHECK(shape == Shape{2, 3});
  CHECK(copy.strides() == Strides{3, 1});
  CHECK(a.shape() == Shape{5});
  const Tensor moved = std::move(a);
  CHECK(moved.shape() == Shape{5});
  CHECK(a.shape().empty());  // NOLINT: the state of a moved-from tensor
  CHECK(a.rank() == 0);
  CHECK(!a.defined());
  CHECK(Tensor().strides().empty());
}

TEST_CASE("tensor: elements can only be read and written as their own type") {
  Tensor x = vector_of({1, 2});
  CHECK_THROWS_AS(x.data<float>(), Error);
  CHECK_THROWS_AS(x.mutable_data<std::int64_t>(), Error);
  CHECK_THROWS_AS(Tensor().data<float>(), Error);
  CHECK_THROWS_AS(Tensor().mutable_raw(), Error);
  CHECK_THROWS_AS(x.item(), Error);
  CHECK_THROWS_AS(Tensor().item(), Error);
  CHECK(Tensor::scalar(-3, DType::i64).item() == -3);
  CHECK(x.size(-1) == 2);
  CHECK_THROWS_AS(x.size(1), Error);
  CHECK_THROWS_AS(x.size(-2), Error);
}

TEST_CASE("tensor: every mutable access increases the version, and no two storages share a version") {
  Tensor x = vector_of({1, 2}), y = vector_of({1, 2});
  CHECK(x.version() != y.version());
  const std::uint64_t first = x.version();
  CHECK(x.data<double>()[0] == 1);
  CHECK(x.version() == first);
  const Tensor view = x.view({1}, {1}, 1);
  x.mutable_data<double>()[1] = 5;
  CHECK(x.version() > first);
  CHECK(view.version() == x.version());
  CHECK(x.version() != y.version());
}

TEST_CASE("tensor: borrowed elements are never written, and their owner is kept alive") {
  auto owner = std::make_shared<std::vector<float>>(3, 2.0f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  const float* data = owner->data();
  Tensor x = Tensor::borrow(std::move(owner), data, {3}, DType::f32);
  CHECK(x.raw() == data);
  CHECK_THROWS_AS(x.mutable_data<float>(), Error);
  CHECK_FALSE(watch.expired());
  x = Tensor();
  CHECK(watch.expired());
  static const float constants[2] = {1, 2};
  Tensor unowned = Tensor::borrow(nullptr, constants, {2}, DType::f32);
  CHECK_THROWS_AS(unowned.mutable_data<float>(), Error);
}

TEST_CASE("parameter set: values and gradients lie in flat buffers, aligned to 64 bytes") {
  const Parameter a(vector_of({1, 2, 3})), b(Tensor::full({3, 5}, 4, DType::f64)), frozen(vector_of({9}), false);
  const Parameter transposed(vector_of({1, 2, 3, 4, 5, 6}).view({3, 2}, {1, 3}, 0));
  ParameterSet set({{"a", a}, {"b", b}, {"tied", a}, {"frozen", frozen}, {"t", transposed}});
  REQUIRE(set.entries().size() == 3);
  CHECK(set.parameter_count() == 3 + 15 + 6);
  CHECK(set.entries()[0].name == "a");
  CHECK(set.values().numel() == set.gradients().numel());
  for (const ParameterSet::Entry& entry : set.entries()) {
    CHECK(entry.offset % 8 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(entry.parameter.value().raw()) % 64 == 0);
    CHECK(entry.parameter.value().storage() == set.values().storage());
    CHECK(entry.parameter.value().is_contiguous());
  }
  CHECK(frozen.value().storage() != set.values().storage());
  CHECK(values_of(a.value()) == Values{1, 2, 3});
  CHECK(values_of(transposed.value()) == Values{1, 4, 2, 5, 3, 6});
  // Padding is zero. A write to the flat buffer changes the parameters.
  double total = 0;
  for (double v : values_of(set.values())) total += v;
  CHECK(total == 6 + 60 + 21);
  set.values().mutable_data<double>()[set.entries()[1].offset] = 50;
  CHECK(b.value().data<double>()[0] == 50);
  Parameter handle = a;
  handle.assign(vector_of({7, 8, 9}));
  CHECK(set.values().data<double>()[1] == 8);
}

TEST_CASE("parameter set: the memory that parameters had before returns to the system") {
  Context context;
  const ContextScope scope(context);
  const Parameter a(Tensor::full({100000}, 1)), b(Tensor::full({50000}, 2));
  const ParameterSet set({{"a", a}, {"b", b}});
  CHECK(context.memory().use().cached == 0);
}

TEST_CASE("parameter set: it is the sink that sums gradients") {
  const Parameter a(vector_of({1, 2})), b(vector_of({3, 4})), stranger(vector_of({5, 6}));
  ParameterSet set({{"a", a}, {"b", b}});
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    Tape tape;
    const Tensor x = tape.watch(vector_of({1, 1}));
    tape.backward(sum(mul(mul(mul(a, b), stranger), mul(x, a))), set);
  }
  // d/da (a^2 b c) = 2 a b c, d/db = a^2 c, twice
  CHECK(values_of(set.gradient(set.entries()[0])) == Values{2 * 2 * 1 * 3 * 5, 2 * 2 * 2 * 4 * 6});
  CHECK(values_of(set.gradient(set.entries()[1])) == Values{2 * 1 * 5, 2 * 4 * 6});
  double padding = 0;
  for (double v : values_of(set.gradients())) padding += v;
  CHECK(padding == 60 + 192 + 10 + 48);
  set.zero_gradients();
  for (double v : values_of(set.gradients())) CHECK(v == 0);
}

TEST_CASE("parameter set: using a parameter that another set took over is an error") {
  const Parameter p(vector_of({1, 2}));
  ParameterSet first({{"p", p}}), second({{"p", p}});
  const auto step = [&](ParameterSet& set) {
    Tape tape;
    tape.backward(sum(square(p)), set);
  };
  step(second);
  CHECK(values_of(second.gradient(second.entries()[0])) == Values{2, 4});
  CHECK_THROWS_WITH_AS(step(first), doctest::Contains("p was moved to another set"), Error);
}

TEST_CASE("parameter: a write to a lent parameter fails with its lender's message") {
  const Parameter p(vector_of({1, 2})), q(vector_of({1, 2}));
  lend(p, vector_of({3, 4}), "is a loan");
  lend_quantized(q, vector_of({5, 6}), {}, "is another");
  CHECK(values_of(p.value()) == Values{3, 4});
  CHECK_FALSE(p.writable());
  CHECK(q.quantized());
  CHECK_THROWS_WITH_AS(Parameter(p).assign(vector_of({1, 2})), "[parameter] the parameter is a loan", Error);
  CHECK_THROWS_WITH_AS(Parameter(p).set_trainable(true), "[parameter] the parameter is a loan", Error);
  CHECK_THROWS_WITH_AS(ParameterSet({{"q", q}}), "[parameter set] q is another", Error);
}

TEST_CASE("undefined tensors are errors where a scalar would be valid") {
  Tensor scalar = Tensor::scalar(1);
  CHECK_THROWS_AS(Parameter(scalar).assign(Tensor()), Error);
  CHECK_THROWS_AS(raw::accumulate(scalar, Tensor()), Error);
  CHECK_THROWS_AS(raw::copy(Tensor(), scalar), Error);
  CHECK_THROWS_WITH_AS(raw::convert(Tensor(), DType::f64), "[convert] the tensor is undefined", Error);
  CHECK_THROWS_AS(Gradients().of(Parameter()), Error);
  Tape tape;
  Gradients gradients;
  const Tensor x = tape.watch(Tensor::scalar(2, DType::f64));
  const Tensor y = square(x);
  CHECK_THROWS_AS(tape.backward(y, Tensor(), gradients), Error);
  tape.backward(y, gradients);
  CHECK(gradients.of(x).item() == 4);
}

TEST_CASE("raw: copies with any order of axes") {
  for (const Shape& sizes : {Shape{5, 17, 33}, {40, 3, 16}, {1, 64, 50}, {7, 1, 19}}) {
    std::vector<double> values(static_cast<std::size_t>(numel(sizes)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    const Tensor x = Tensor::from(values, sizes);
    std::vector<std::size_t> order{0, 1, 2};
    do {
      Shape shape;
      Strides strides;
      for (std::size_t axis : order) {
        shape.push_back(sizes[axis]);
        strides.push_back(x.strides()[axis]);
      }
      const Tensor y = raw::contiguous(x.view(shape, strides, 0));
      Tensor back = Tensor::empty(sizes, DType::f64);
      Strides inverse(3);
      for (std::size_t i = 0; i < 3; ++i) inverse[order[i]] = y.strides()[i];
      raw::copy(y.view(sizes, inverse, 0), back);
      CHECK(back.to_vector<double>() == values);
      double wrong = 0;
      for (std::int64_t i = 0, n = 0; i < shape[0]; ++i)
        for (std::int64_t j = 0; j < shape[1]; ++j)
          for (std::int64_t k = 0; k < shape[2]; ++k, ++n)
            wrong += y.data<double>()[n] !=
                     values[static_cast<std::size_t>(i * strides[0] + j * strides[1] + k * strides[2])];
      CHECK(wrong == 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("parameter set: states are flat, initially zero, and kept") {
  ParameterSet set({{"a", Parameter(vector_of({1, 2}))}});
  CHECK(set.states() == 0);
  CHECK(set.state(1).shape() == set.values().shape());
  CHECK(set.states() == 2);
  set.state(1).mutable_data<double>()[0] = 5;
  CHECK(set.state(1).data<double>()[0] == 5);
  CHECK(set.state(0).data<double>()[0] == 0);
}

TEST_CASE("parameter set: invalid arguments are errors") {
  const Parameter a(vector_of({1, 2})), single(Tensor::zeros({2})), frozen(vector_of({1}), false);
  CHECK_THROWS_AS(ParameterSet({}), Error);
  CHECK_THROWS_AS(ParameterSet({{"frozen", frozen}}), Error);
  CHECK_THROWS_WITH_AS(ParameterSet({{"a", a}, {"single", single}}), doctest::Contains("single"), Error);
  CHECK(values_of(a.value()) == Values{1, 2});
}

TEST_CASE("parameter: invalid arguments are errors") {
  Parameter p(vector_of({1, 2}));
  CHECK_THROWS_AS(Parameter{Tensor()}, Error);
  CHECK_THROWS_AS(Parameter(Tensor::zeros({2}, DType::i64)), Error);
  CHECK_THROWS_AS(Parameter(Tensor::zeros({2}, DType::c64)), Error);
  CHECK_THROWS_AS(p.assign(vector_of({1, 2, 3})), Error);
  CHECK_THROWS_AS(p.assign(Tensor::zeros({2})), Error);
  CHECK_THROWS_AS(rebind(p, vector_of({1, 2, 3})), Error);
  CHECK_THROWS_AS(Parameter().value(), Error);
  CHECK_THROWS_AS(Parameter().set_trainable(true), Error);
  CHECK(values_of(p.value()) == Values{1, 2});
}
