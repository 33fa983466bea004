// Fits sums of exponentials to the coefficients of a TNN.
#include "weft/recurrent_tnn.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>

#include "tnn/eigenvalues.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/quantize.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;
using Numbers = std::vector<double>;
using Pole = std::complex<double>;

// Steps of the subspace iteration. The singular values of the coefficients fall so quickly that more change nothing.
constexpr int subspace_steps = 6;
constexpr int64_t most_lags = 8192;
// Directions whose singular value is smaller than this fraction of the largest one are rounding errors of f32.
constexpr double rank_tolerance = 1e-7;
// The smallest weight of (a, b) compared with the squared error of the fit. It avoids large terms that cancel.
constexpr double ridge = 1e-7;
// Poles with a smaller imaginary part are real numbers, except for rounding errors.
constexpr double real_tolerance = 1e-6;
// The range of nu, so that exp(-exp(nu)) is between 1 - 1e-7 and e^-60.
constexpr double least_rate = 1e-7, most_rate = 60;

// A sum of exponentials. Each term has an element of each list.
struct Sum {
  Numbers nu, theta, a, b;
};

double dot(const double* x, const double* y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// Subtracts from x its projection on y, whose length is 1, and returns the factor of y.
double remove_part(const double* y, double* x, int64_t n) {
  const double part = dot(y, x, n);
  for (int64_t k = 0; k < n; ++k) x[k] -= part * y[k];
  return part;
}

// Makes the rows of q (rows, n) orthonormal by the modified Gram-Schmidt method. Returns the lengths that the rows had
// after the earlier rows were projected out.
Numbers orthonormalize(double* q, int64_t rows, int64_t n) {
  Numbers lengths;
  for (int64_t i = 0; i < rows; ++i) {
    double* row = q + i * n;
    for (int again = 0; again < 2; ++again)  // the second pass removes the rounding errors of the first
      for (int64_t j = 0; j < i; ++j) (void)remove_part(q + j * n, row, n);
    const double length = std::sqrt(dot(row, row, n));
    lengths.push_back(length);
    for (int64_t k = 0; k < n && length > 0; ++k) row[k] /= length;
  }
  return lengths;
}

// Returns rows (rank, m) that span the directions of the largest singular values of the symmetric Hankel matrix
// H_ij = t_(i+j), (m, m), by subspace iteration. There are at most `rows` of them.
Tensor largest_directions(const Numbers& t, int64_t rows) {
  const int64_t m = (std::ssize(t) + 1) / 2;
  Tensor hankel = Tensor::empty({m, m}, DType::f64);
  for (int64_t i = 0; i < m; ++i) std::copy_n(t.data() + i, m, hankel.mutable_data<double>() + i * m);
  Tensor q = Random(0).normal({rows, m}, 0, 1, DType::f64);
  Numbers lengths;
  for (int i = 0; i < subspace_steps; ++i) {
    q = matmul(q, hankel);
    lengths = orthonormalize(q.mutable_data<double>(), rows, m);
  }
  const auto is_small = [&](double length) { return !(length > rank_tolerance * lengths[0]); };
  return slice(q, 0, 0, std::find_if(lengths.begin(), lengths.end(), is_small) - lengths.begin());
}

// Returns the poles λ with Im λ >= 0 whose powers span the first `order` rows of q, approximately: row by row, the
// elements after the first are a product of a matrix A and the elements before the last (Kung 1978, A new
// identification and model reduction algorithm via singular value decomposition). The λ are the eigenvalues of A. For x
// = q without its last column l, the normal equations of A are A x xᵀ = y xᵀ with x xᵀ = I - l lᵀ, whose inverse is
// I + l lᵀ / (1 - lᵀ l).
std::vector<Pole> poles_of(const Tensor& q, int64_t order) {
  const int64_t m = q.size(1);
  const Tensor rows = slice(q, 0, 0, order), x = slice(rows, 1, 0, m - 1), y = slice(rows, 1, 1, m);
  const Tensor product = matmul(y, transpose(x, 0, 1)), last = slice(rows, 1, m - 1, m);  // (order, order), (order, 1)
  const Numbers lasts = raw::contiguous(last).to_vector<double>();
  const double left = 1 - dot(lasts.data(), lasts.data(), order);
  const Tensor correction = matmul(matmul(product, last), transpose(last, 0, 1));
  std::vector<Pole> poles;
  for (const Pole& pole : eigenvalues(add(product, scale(correction, 1 / left))))
    if (pole.imag() > real_tolerance) poles.push_back(pole);
    else if (pole.imag() >= -real_tolerance) poles.emplace_back(pole.real(), 0);
  return poles;
}

// Returns at most `terms` poles. A real matrix of order K has K to K/2 poles with Im λ >= 0, so the order begins with
// 2K and is reduced until there are few enough.
std::vector<Pole> poles_of(const Numbers& t, int64_t terms) {
  const int64_t m = (std::ssize(t) + 1) / 2;                           // of the Hankel matrix
  const Tensor q = largest_directions(t, std::min(2 * terms, m - 1));  // all m directions have no shift
  int64_t order = q.size(0);
  if (order == 0) return {};
  while (true) {
    std::vector<Pole> poles = poles_of(q, order);
    if (std::ssize(poles) <= terms) return poles;
    order -= std::ssize(poles) - terms;
  }
}

// Returns the x that minimizes ‖Σ_i x_i row_i - target‖₂ for the rows of `rows` (count, n). The
// rows become orthonormal by the modified Gram-Schmidt method, which gives a triangular matrix R, and R x = Q target.
Numbers least_squares(Numbers rows, Numbers target) {
  const int64_t n = std::ssize(target), count = std::ssize(rows) / n;
  Numbers x(static_cast<std::size_t>(count)), r(static_cast<std::size_t>(count * count), 0);
  const auto at = [](int64_t i) { return static_cast<std::size_t>(i); };
  for (int64_t i = 0; i < count; ++i) {
    double* row = rows.data() + i * n;
    for (int64_t j = 0; j < i; ++j) r[at(j * count + i)] = remove_part(rows.data() + j * n, row, n);
    const double length = r[at(i * count + i)] = std::sqrt(dot(row, row, n));
    for (int64_t k = 0; k < n; ++k) row[k] /= length;
    x[at(i)] = remove_part(row, target.data(), n);
  }
  for (int64_t i = count - 1; i >= 0; --i) {
    for (int64_t j = i + 1; j < count; ++j) x[at(i)] -= r[at(i * count + j)] * x[at(j)];
    x[at(i)] /= r[at(i * count + i)];
  }
  return x;
}

// Finds the a and b that minimize Σ_k (t_k - Σ_j (a_j Re λ_j^k + b_j Im λ_j^k))² + ridge² Σ_j (a_j² + b_j²). A row of
// the least squares problem has the powers of a λ_j, and after them the ridge as one of 2K more elements.
void fit_factors(Numbers t, Sum& sum) {
  const int64_t terms = std::ssize(sum.nu), lags = std::ssize(t), n = lags + 2 * terms;
  Numbers rows(static_cast<std::size_t>(2 * terms * n), 0);
  for (int64_t j = 0; j < terms; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const Pole pole = std::polar(std::exp(-std::exp(sum.nu[at])), sum.theta[at]);
    double *re = rows.data() + 2 * j * n, *im = re + n;
    Pole power = 1;
    for (int64_t k = 0; k < lags; ++k, power *= pole) {
      re[k] = power.real();
      im[k] = power.imag();
    }
    re[lags + 2 * j] = im[lags + 2 * j + 1] = ridge;
  }
  t.resize(static_cast<std::size_t>(n), 0);
  const Numbers x = least_squares(std::move(rows), std::move(t));
  for (std::size_t i = 0; i < x.size(); i += 2) {
    sum.a.push_back(x[i]);
    sum.b.push_back(x[i + 1]);
  }
}

// Returns a sum of `terms` exponentials for the coefficients t of one channel. Terms that are not needed are 0. a and b
// belong to the λ of nu and theta after their rounding to f32, the dtype of most models.
Sum fit(const Numbers& t, int64_t terms) {
  Sum sum;
  for (const Pole& pole : poles_of(t, terms)) {
    const double rate = std::clamp(-std::log(std::abs(pole)), least_rate, most_rate);
    sum.nu.push_back(static_cast<float>(std::log(rate)));
    sum.theta.push_back(static_cast<float>(std::arg(pole)));
  }
  fit_factors(t, sum);
  for (Numbers* list : {&sum.nu, &sum.theta, &sum.a, &sum.b}) list->resize(static_cast<std::size_t>(terms), 0);
  return sum;
}

// Sets the parameters (K, channels) of `to` so that its coefficients approximate those of `from`.
void fit(const Tno& from, const Exponentials& to, int64_t terms, int64_t lags) {
  const Tensor t = raw::contiguous(transpose(raw::convert(from.coefficients(0, lags), DType::f64), 0, 1));
  const int64_t channels = t.size(0);
  Tensor found = Tensor::empty({4, terms, channels}, DType::f64);
  double* values = found.mutable_data<double>();
  Context::current().parallel_for(channels, 1, [&](int64_t c, int64_t end) {
    for (; c < end; ++c) {
      const double* row = t.data<double>() + c * lags;
      const Sum sum = fit(Numbers(row, row + lags), terms);
      int64_t list = 0;
      for (const Numbers* each : {&sum.nu, &sum.theta, &sum.a, &sum.b}) {
        for (int64_t j = 0; j < terms; ++j)
          values[(list * terms + j) * channels + c] = (*each)[static_cast<std::size_t>(j)];
        ++list;
      }
    }
  });
  int64_t list = 0;
  for (auto [name, parameter] : parameters_of(to)) {  // nu, theta, a, b
    parameter.assign(
        raw::convert(reshape(slice(found, 0, list, list + 1), {terms, channels}), parameter.value().dtype()));
    ++list;
  }
}

// ‖x - y‖₂ / ‖y‖₂, or 0 if both are 0.
double relative_error(const Tensor& x, const Tensor& y) {
  const Tensor to = raw::convert(y, DType::f64), error = sub(raw::convert(x, DType::f64), to);
  const double above = sum(square(error), {0, 1}).item(), below = sum(square(to), {0, 1}).item();
  return above == 0 ? 0 : std::sqrt(above / below);
}

// Copies the parameters that both models have.
void copy_common_parameters(const Model& from, const Model& to) {
  std::map<std::string, Tensor> values;
  for (const auto& [name, parameter] : from.parameters()) values.emplace(name, parameter.value());
  for (auto [name, parameter] : to.parameters())
    if (const auto value = values.find(name); value != values.end())
      parameter.assign(raw::convert(value->second, parameter.value().dtype()));
}

void check(const Tnn* tnn, int64_t exponentials, int64_t lags) {
  const auto refuse = [](const std::string& what) { throw Error("[recurrent_tnn] expected " + what); };
  if (tnn == nullptr || tnn->task() != Task::causal_lm) refuse("a causal language model of the architecture tnn");
  const auto config = config_from_json<TnnConfig>(TnnConfig::arch, tnn->config());
  if (config.exponentials > 0) refuse("a TNN without exponentials: its coefficients already are sums of exponentials");
  if (config.depends_on_length())
    refuse("a TNN with par_type 1 or 4, got par_type " + std::to_string(config.par_type) +
           ": its coefficients change with the length of the text");
  if (config.normalize) refuse("a TNN without normalize, whose divisor is not a recurrence");
  if (quantized_to(tnn->parameters())) refuse("a model that is not quantized: use the original model");
  if (exponentials < 1) refuse("at least 1 exponential, got " + std::to_string(exponentials));
  if (exponentials > lags / 4 || lags > most_lags)
    refuse("at least 4 lags for each exponential, and at most 8192 lags, got " + std::to_string(lags) + " lags and " +
           std::to_string(exponentials) + " exponentials");
}

}  // namespace

RecurrentTnn recurrent_tnn(const Model& model, int64_t exponentials, int64_t lags) {
  return guard_memory("recurrent_tnn", [&] {
    const auto* from = dynamic_cast<const Tnn*>(&model);
    check(from, exponentials, lags);
    const NoGrad suspended;
    auto config = config_from_json<TnnConfig>(TnnConfig::arch, model.config());
    config.exponentials = exponentials;
    ModelSpec spec = model_spec(config, model.task(), model.vocabulary());
    spec.input = model.input();
    auto to = std::make_unique<Tnn>(spec, Init{Random(0), model.parameters().front().second.value().dtype()});
    copy_common_parameters(model, *to);
    RecurrentTnn made;
    for (std::size_t i = 0; i < from->layers().size(); ++i) {
      const Tno &old = from->layers()[i].token_mixer().toep(), &now = to->layers()[i].token_mixer().toep();
      fit(old, *now.exponentials(), exponentials, lags);
      made.errors.push_back(relative_error(now.coefficients(0, lags), old.coefficients(0, lags)));
      if (!std::isfinite(made.errors.back()))
        throw Error("[recurrent_tnn] layer " + std::to_string(i + 1) + ": the coefficients are not finite numbers");
    }
    made.model = std::move(to);
    return made;
  });
}

}  // namespace weft
