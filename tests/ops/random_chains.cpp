// Tests random chains of operations against an evaluation by loops over indices. Compares the values, and the
// derivative in a random direction. A chain contains views of views, broadcast operands, sums and pointwise functions
// in random order.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "op_table.h"
#include "sweep.h"

namespace weft::test {
namespace {

struct Dense {
  Shape shape;
  std::vector<double> values;  // row-major
};

// Calls f(index) for each element of the shape, in row-major order.
void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& f) {
  Shape index(shape.size(), 0);
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
    f(index);
  }
}

double at(const Dense& x, const Shape& index) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) place = place * x.shape[axis] + index[axis];
  return x.values[static_cast<std::size_t>(place)];
}

// Returns the tensor of this shape whose element at `index` is value(index).
Dense made(const Shape& shape, const std::function<double(const Shape&)>& value) {
  Dense y{shape, {}};
  for_each_index(shape, [&](const Shape& index) { y.values.push_back(value(index)); });
  return y;
}

// One step of a chain, computed by weft and by loops.
struct Step {
  std::string name;
  std::function<Tensor(const Tensor&)> run;
  std::function<Dense(const Dense&)> plain;
};

// The random numbers that determine a chain.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.below(next_++, static_cast<std::uint64_t>(n)));
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

Step pointwise(const std::string& name, const std::function<Tensor(const Tensor&)>& run, double (*f)(double)) {
  return {name, run,
          [f](const Dense& x) { return made(x.shape, [&](const Shape& index) { return f(at(x, index)); }); }};
}

Step permuted(const Shape& shape, Choice& choice) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < shape.size(); ++i)
    dims.insert(dims.begin() + choice.below(static_cast<std::int64_t>(i) + 1), static_cast<std::int64_t>(i));
  return {"permute", [dims](const Tensor& x) { return permute(x, dims); },
          [dims](const Dense& x) {
            Shape to;
            for (std::int64_t d : dims) to.push_back(x.shape[static_cast<std::size_t>(d)]);
            return made(to, [&](const Shape& index) {
              Shape from(index.size());
              for (std::size_t i = 0; i < dims.size(); ++i) from[static_cast<std::size_t>(dims[i])] = index[i];
              return at(x, from);
            });
          }};
}

Step sliced(const Shape& shape, Choice& choice) {
  const std::int64_t axis = choice.below(static_cast<std::int64_t>(shape.size()));
  const std::int64_t n = shape[static_cast<std::size_t>(axis)], start = choice.below(n);
  const std::int64_t stop = start + 1 + choice.below(n - start), step = 1 + choice.below(3);
  return {"slice", [=](const Tensor& x) { return slice(x, axis, start, stop, step); },
          [=](const Dense& x) {
            Shape to = x.shape;
            to[static_cast<std::size_t>(axis)] = (stop - start - 1) / step + 1;
            return made(to, [&](Shape index) {
              index[static_cast<std::size_t>(axis)] = start + step * index[static_cast<std::size_t>(axis)];
              return at(x, index);
            });
          }};
}

Step flipped(const Shape& shape, Choice& choice) {
  const auto axis = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(shape.size())));
  return {"flip", [=](const Tensor& x) { return flip(x, static_cast<std::int64_t>(axis)); },
          [=](const Dense& x) {
            return made(x.shape, [&](Shape index) {
              index[axis] = x.shape[axis] - 1 - index[axis];
              return at(x, index);
            });
          }};
}

// A sum over an axis, which is kept with size 1.
Step summed(const Shape& shape, Choice& choice) {
  const auto axis = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(shape.size())));
  return {"sum", [=](const Tensor& x) { return sum(x, {static_cast<std::int64_t>(axis)}, true); },
          [=](const Dense& x) {
            Shape to = x.shape;
            to[axis] = 1;
            return made(to, [&](Shape index) {
              double total = 0;
              for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
                index[axis] = i;
                total += at(x, index);
              }
              return total;
            });
          }};
}

Step merged(const Shape& shape, Choice& choice) {
  const auto axis = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(shape.size()) - 1));
  Shape to = shape;
  to[axis] *= to[axis + 1];
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return {"reshape", [to](const Tensor& x) { return reshape(x, to); },
          [to](const Dense& x) {
            return Dense{to, x.values};
          }};
}

// Multiplies x by its own slice of length 1 along an axis. The multiplication broadcasts the slice.
Step times_slice(const Shape& shape, Choice& choice) {
  const auto axis = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(shape.size())));
  const std::int64_t place = choice.below(shape[axis]), dim = static_cast<std::int64_t>(axis);
  return {"times a slice", [=](const Tensor& x) { return mul(x, slice(x, dim, place, place + 1)); },
          [=](const Dense& x) {
            return made(x.shape, [&](const Shape& index) {
              Shape other = index;
              other[axis] = place;
              return at(x, index) * at(x, other);
            });
          }};
}

Step joined(const Shape& shape, Choice& choice) {
  const auto axis = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(shape.size())));
  return {"concat",
          [=](const Tensor& x) {
            const std::vector<Tensor> parts{x, scale(x, 2)};
            return concat(parts, static_cast<std::int64_t>(axis));
          },
          [=](const Dense& x) {
            Shape to = x.shape;
            to[axis] *= 2;
            return made(to, [&](Shape index) {
              const bool second = index[axis] >= x.shape[axis];
              if (second) index[axis] -= x.shape[axis];
              return (second ? 2 : 1) * at(x, index);
            });
          }};
}

Step next_step(const Shape& shape, Choice& choice) {
  switch (choice.below(10)) {
    case 0: return permuted(shape, choice);
    case 1: return sliced(shape, choice);
    case 2: return flipped(shape, choice);
    case 3: return summed(shape, choice);
    case 4: return shape.size() > 1 ? merged(shape, choice) : flipped(shape, choice);
    case 5: return times_slice(shape, choice);
    case 6: return numel(shape) < 200 ? joined(shape, choice) : sliced(shape, choice);
    case 7:
      return pointwise(
          "tanh", [](const Tensor& x) { return activation(x, Activation::tanh); },
          [](double v) { return std::tanh(v); });
    case 8:
      return pointwise(
          "square", [](const Tensor& x) { return square(x); }, [](double v) { return v * v; });
    default:
      return pointwise(
          "scale", [](const Tensor& x) { return scale(x, -0.7); }, [](double v) { return -0.7 * v; });
  }
}

Dense plain(const std::vector<Step>& chain, Dense x) {
  for (const Step& step : chain) x = step.plain(x);
  return x;
}

double total(const Dense& x) {
  double sum = 0;
  for (double v : x.values) sum += v;
  return sum;
}

}  // namespace

TEST_CASE("random chains of operations: values and derivatives equal loops over indices") {
  for (std::uint64_t seed = 1; seed <= sweep(300u, 60u); ++seed) {
    Choice choice(seed);
    Shape shape;
    for (std::int64_t rank = 1 + choice.below(4); rank > 0; --rank) shape.push_back(1 + choice.below(5));
    const Tensor x = random_tensor({shape}, seed);
    Dense current{shape, x.to_vector<double>()};
    const Dense start = current;
    std::vector<Step> chain;
    std::string names;
    for (int i = 0; i < 7; ++i) {
      chain.push_back(next_step(current.shape, choice));
      names += chain.back().name + ", ";
      current = chain.back().plain(current);
    }
    CAPTURE(seed);
    CAPTURE(names);
    Tape tape;
    const Tensor leaf = tape.watch(x);
    Tensor y = leaf;
    for (const Step& step : chain) y = step.run(y);
    CHECK(max_difference(y.detach(), Tensor::from(current.values, current.shape)) <= 1e-12 * (1 + max_abs(y.detach())));

    Gradients gradients;
    tape.backward(sum(y), gradients);
    const auto gradient = gradients.of(leaf).to_vector<double>();
    const auto direction = random_tensor({shape}, seed + 1000).to_vector<double>();
    constexpr double h = 1e-5;
    Dense ahead = start, behind = start;
    double analytic = 0, size = 1;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      ahead.values[i] += h * direction[i];
      behind.values[i] -= h * direction[i];
      analytic += gradient[i] * direction[i];
      size = std::max(size, std::abs(gradient[i]));
    }
    CHECK(std::abs((total(plain(chain, ahead)) - total(plain(chain, behind))) / (2 * h) - analytic) <= 1e-6 * size);
  }
}

}  // namespace weft::test
