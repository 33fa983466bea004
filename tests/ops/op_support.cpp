// Inputs, comparisons and numerical gradients for the op table.
#include <cmath>
#include <cstring>
#include <limits>

#include "op_table.h"

namespace weft::test {
namespace {

std::vector<OpCase>& registry() {
  static std::vector<OpCase> cases;
  return cases;
}

Tensor as_c128(const Tensor& x) {
  if (x.dtype() == DType::c128) return raw::contiguous(x);
  return raw::convert(raw::contiguous(x), DType::c128);
}

// The sum over all elements of Re(conj(cotangent) · y). Its gradient with respect to y is the cotangent.
double inner(const Tensor& y, const Tensor& cotangent) {
  const auto a = as_c128(y).to_vector<std::complex<double>>(), b = as_c128(cotangent).to_vector<std::complex<double>>();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
  return sum;
}

// The real numbers of a contiguous f64 or c128 tensor.
double* reals(Tensor& x) { return static_cast<double*>(x.mutable_raw()); }
std::int64_t real_count(const Tensor& x) { return x.numel() * (is_complex(x.dtype()) ? 2 : 1); }

// Returns the largest difference between `analytic` and the slope of `value` with respect to each number of x.
double slope_error(Tensor& x, const Tensor& analytic, double scale, const std::function<double()>& value) {
  const double h = 1e-5;
  const Tensor dense = raw::contiguous(analytic);
  const double* ana = static_cast<const double*>(dense.raw());
  double largest = 1, worst = 0;
  for (std::int64_t i = 0; i < real_count(x); ++i) largest = std::max(largest, std::abs(ana[i]));
  for (std::int64_t i = 0; i < real_count(x); ++i) {
    const double before = reals(x)[i];
    reals(x)[i] = before + h;
    const double up = value();
    reals(x)[i] = before - h;
    const double down = value();
    reals(x)[i] = before;
    const double error = std::abs((up - down) / (2 * h) - scale * ana[i]) / largest;
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

}  // namespace

OpCases::OpCases(std::initializer_list<OpCase> cases) {
  for (const OpCase& c : cases) registry().push_back(c);
}

const std::vector<OpCase>& all_op_cases() { return registry(); }

Tensor random_tensor(const In& in, std::uint64_t seed) {
  const Random random(seed);
  Tensor x = Tensor::empty(in.shape, in.dtype);
  if (in.dtype == DType::i64) {
    auto* p = x.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < x.numel(); ++i)
      p[i] = static_cast<std::int64_t>(std::floor(in.low + (in.high - in.low) * random.uniform(i)));
    return x;
  }
  double* p = reals(x);
  for (std::int64_t i = 0; i < real_count(x); ++i) {
    double v = in.low + (in.high - in.low) * random.uniform(i);
    if (std::abs(v) < in.gap) v = v < 0 ? v - in.gap : v + in.gap;
    p[i] = v;
  }
  return x;
}

std::vector<Tensor> make_inputs(const OpCase& c) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(random_tensor(c.inputs[i], 100 + i));
  return inputs;
}

Tensor to_single(const Tensor& x) {
  if (x.dtype() == DType::i64) return x;
  if (x.dtype() == DType::f64) return raw::convert(x, DType::f32);
  return raw::convert(x, DType::c64);
}

double max_abs(const Tensor& a) {
  double largest = 0;
  for (const auto& v : as_c128(a).to_vector<std::complex<double>>())
    largest = std::isnan(std::abs(v)) ? std::numeric_limits<double>::infinity() : std::max(largest, std::abs(v));
  return largest;
}

double max_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const auto x = as_c128(a).to_vector<std::complex<double>>(), y = as_c128(b).to_vector<std::complex<double>>();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(x[i] - y[i]);
    const bool both_nan = std::isnan(std::abs(x[i])) && std::isnan(std::abs(y[i]));
    const bool same_infinity = x[i] == y[i];
    if (both_nan || same_infinity) continue;
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = raw::contiguous(a), y = raw::contiguous(b);
  return x.numel() == 0 ||
         std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * dtype_size(x.dtype())) == 0;
}

Differentiated differentiate(const Function& f, const std::vector<Tensor>& inputs,
                             const std::vector<bool>& differentiable, std::uint64_t cotangent_seed) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    leaves.push_back(differentiable[i] ? tape.watch(inputs[i]) : inputs[i]);
  Differentiated result;
  const Tensor y = f(leaves);
  result.y = y.detach();
  Tensor cotangent =
      random_tensor({y.shape(), -1, 1, 0, is_complex(y.dtype()) ? DType::c128 : DType::f64}, cotangent_seed);
  if (y.dtype() == DType::f32 || y.dtype() == DType::c64) cotangent = to_single(cotangent);
  Gradients gradients;
  tape.backward(y, cotangent, gradients);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.gradients.push_back(differentiable[i] ? gradients.of(leaves[i]) : Tensor());
  return result;
}

double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const std::vector<bool>& differentiable,
                      double scale) {
  const Differentiated ana = differentiate(f, inputs, differentiable);
  const Tensor cotangent =
      random_tensor({ana.y.shape(), -1, 1, 0, is_complex(ana.y.dtype()) ? DType::c128 : DType::f64}, 7);
  double worst = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!differentiable[i]) continue;
    std::vector<Tensor> moved = inputs;
    moved[i] = Tensor::empty(inputs[i].shape(), inputs[i].dtype());
    raw::copy(inputs[i], moved[i]);
    worst = std::max(worst, slope_error(moved[i], ana.gradients[i], scale, [&] { return inner(f(moved), cotangent); }));
  }
  return worst;
}

double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const NamedParameters& parameters) {
  std::vector<bool> real(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) real[i] = inputs[i].dtype() != DType::i64;
  Gradients gradients;
  Tensor cotangent;
  {
    Tape tape;
    const Tensor y = f(inputs);
    cotangent = random_tensor({y.shape(), -1, 1, 0, DType::f64}, 7);
    tape.backward(y, cotangent, gradients);
  }
  double worst = gradient_error(f, inputs, real);
  for (const auto& [name, parameter] : parameters) {
    Tensor value = parameter.value();
    worst =
        std::max(worst, slope_error(value, gradients.of(parameter), 1, [&] { return inner(f(inputs), cotangent); }));
  }
  return worst;
}

}  // namespace weft::test
