// # Toeplitz products
//
// A Toeplitz neural network mixes the tokens of a sequence with weights that depend only on the distance between two
// tokens. This is a product with a *Toeplitz matrix*. This page begins with two loops, and arrives at a product in
// $O(n \log n)$, first for all tokens at once and then token by token. [The next page](tnn.cpp) builds the network. Every
// step is compared with the one before it, and the last one is compared with the library's.
//
// The paper is [Toeplitz Neural Network for Sequence Modeling](https://arxiv.org/abs/2305.04749) (Qin et al., ICLR
// 2023). The authors' programs are [OpenNLPLab/Tnn](https://github.com/OpenNLPLab/Tnn) and
// [tnn-pytorch](https://github.com/Doraemonzzz/tnn-pytorch).
#include <weft/ops.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "step.h"

namespace {

using weft::DType;
using weft::Shape;
using weft::Tensor;
using Numbers = std::vector<double>;

// ## Mixing by distance
//
// Take a sequence $x_0, \dots, x_{n-1}$ of one channel: one number for each token. A layer that mixes tokens replaces
// each number by a weighted sum of all of them. In attention, the weight of token $j$ for token $i$ depends on the
// contents of the tokens. In a TNN (section 3.2 of the paper) it depends only on their distance, the *lag* $i - j$:
//
// $$y_i = \sum_{j=0}^{n-1} t_{i-j}\, x_j$$
//
// There are $2n - 1$ lags, from $-(n-1)$ to $n-1$, so a channel needs $2n - 1$ *coefficients* $t$. We store them in
// ascending order: `t[n - 1]` is $t_0$.
Numbers by_loops(const Numbers& t, const Numbers& x) {
  const std::size_t n = x.size();
  Numbers y(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i] += t[n - 1 + i - j] * x[j];
  return y;
}

// The examples below use random numbers and 13 tokens. We choose a prime, because powers of two hide mistakes.
Tensor random(const Shape& shape, std::uint64_t stream) {
  return weft::Random(1, stream).normal(shape, 0, 1, DType::f64);
}

const Tensor x13 = random({13}, 0), t13 = random({25}, 1);
const Tensor y13 =
    Tensor::from(by_loops(t13.to_vector<double>(), x13.to_vector<double>()), {13});

// ## The Toeplitz matrix
//
// The sum is a product of a matrix with a vector, $y = T x$ with $T_{ij} = t_{i-j}$. All elements on a diagonal of $T$
// are equal. Such a matrix is called a Toeplitz matrix.
//
// ![A Toeplitz matrix: the elements of each diagonal are equal](drawings/toeplitz.svg)
Tensor toeplitz_matrix(const Tensor& t) {
  const Numbers lags = t.to_vector<double>();
  const std::size_t n = (lags.size() + 1) / 2;
  Numbers matrix;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) matrix.push_back(lags[n - 1 + i - j]);
  return Tensor::from(matrix,
                      {static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
}

STEP("The Toeplitz matrix") {
  const Numbers small =
      toeplitz_matrix(Tensor::from(Numbers{-3, -2, -1, 0, 1, 2, 3}, {7}))
          .to_vector<double>();
  for (std::size_t i = 0; i < 4; ++i)
    print("%4.0f %4.0f %4.0f %4.0f", small[4 * i], small[4 * i + 1], small[4 * i + 2],
          small[4 * i + 3]);
  expect_same("loops and matrix", y13, weft::matmul(toeplitz_matrix(t13), x13));
}

// The matrix costs $n^2$ multiplications and $n^2$ numbers of memory. It has only $2n - 1$ different elements, so there
// must be a faster way.
//
// ## A circulant matrix
//
// A *circulant* matrix of size $m$ is a Toeplitz matrix whose lags are counted modulo $m$:
// $C_{ij} = c_{(i-j) \bmod m}$. Each row is the row above it, shifted to the right by one place. The element that
// leaves on the right comes back on the left.
//
// We want $T$ to be a part of $C$, so $m$ must be larger than $n$. With $m = n$, the lags $k$ and $k - n$ would be the
// same modulo $m$. They would share one element of $c$, although $T$ has different coefficients for them. This is the
// wrap-around that [the convolution on the page about Fourier transforms](fourier.cpp#any-length) avoids in the same
// way. Each of the $2n - 1$ lags has its own place if $m \ge 2n - 1$. We take $m = 2n$. The lags $0 \dots n-1$ come
// first, then one element that is never used, and then the negative lags, because $-k \equiv 2n - k$ modulo $2n$. The
// upper left quarter of $C$ is $T$.
//
// ![The Toeplitz matrix is the upper left quarter of a circulant matrix](drawings/circulant.svg)
Tensor circulant_of(const Tensor& t) {
  const std::int64_t n = (t.size(0) + 1) / 2;
  const Tensor negative = weft::slice(t, 0, 0, n - 1),
               others = weft::slice(t, 0, n - 1, 2 * n - 1);
  return weft::concat({others, Tensor::zeros({1}, DType::f64), negative}, 0);
}

// So $T x$ is the first half of the product of $C$ with $x$, padded by $n$ zeros.
Tensor padded(const Tensor& x) {
  return weft::concat({x, Tensor::zeros(x.shape(), DType::f64)}, 0);
}

Tensor circulant_matrix(const Tensor& c) {
  const Numbers first_column = c.to_vector<double>();
  const std::size_t m = first_column.size();
  Numbers matrix;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j) matrix.push_back(first_column[(m + i - j) % m]);
  return Tensor::from(matrix, {c.size(0), c.size(0)});
}

STEP("The circulant matrix") {
  const Tensor y = weft::matmul(circulant_matrix(circulant_of(t13)), padded(x13));
  expect_same("loops and circulant matrix", y13, weft::slice(y, 0, 0, 13));
}

// ## The Fourier transform diagonalizes circulants
//
// Multiply a circulant matrix by the vector $f_k$ with the elements $e^{2\pi i jk/m}$, $j = 0 \dots m-1$. Shift this
// vector down by one place: element $j$ moves to place $j + 1$, and the last element moves to place 0. This multiplies
// the vector by a number, $e^{-2\pi i k/m}$. A shift by $l$ places multiplies it by $e^{-2\pi i kl/m}$. The product of
// $C$ with a vector is a weighted sum of shifts of this vector: the vector shifted down by $l$ places has the weight
// $c_l$. So $C$ multiplies $f_k$ by a number, too:
//
// $$C f_k = \hat c_k f_k, \qquad \hat c_k = \sum_l c_l\, e^{-2\pi i kl/m}$$
//
// The numbers $\hat c_k$ are the discrete Fourier transform of $c$. All circulants of one size have the same
// eigenvectors; only the eigenvalues differ.
STEP("Eigenvectors of a circulant") {
  const std::int64_t m = 26;
  const Tensor c = circulant_of(t13), c_hat = weft::fft(c);
  Numbers cosines, sines;
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t k = 0; k < m; ++k) {
      const double angle =
          2 * M_PI * static_cast<double>(j * k) / static_cast<double>(m);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  const Tensor f = weft::complex(Tensor::from(cosines, {m, m}),
                                 Tensor::from(sines, {m, m}));  // f_k is column k
  const Tensor matrix = circulant_matrix(c),
               left = weft::matmul(weft::complex(matrix, weft::scale(matrix, 0)), f);
  expect_same("real parts of C f and c^ f", weft::real(left), weft::real(f * c_hat));
  expect_same("imaginary parts", weft::imag(left), weft::imag(f * c_hat));
}

// A transform writes a vector as a sum of the $f_k$. So a product with $C$ consists of three parts: transform $x$,
// multiply each element by $\hat c_k$, and transform back. The fast Fourier transform needs $O(m \log m)$ operations
// for each transform. The paper (section 3.2) and most programs compute $T x$ in this way. The inputs are real, so it
// suffices to compute the first $m/2 + 1$ elements (`rfft`); the others are their conjugates.
Tensor by_circulant(const Tensor& t, const Tensor& x) {
  const std::int64_t n = x.size(0);
  const Tensor spectrum = weft::rfft(circulant_of(t)) * weft::rfft(padded(x));
  return weft::slice(weft::irfft(spectrum, 2 * n), 0, 0, n);
}

STEP("By Fourier transforms of 2n elements") {
  expect_same("loops and transforms", y13, by_circulant(t13, x13));
}

// ## The ring
//
// Half of the padded $x$ is zero, and half of the result is dropped. weft avoids both. Read sequences as polynomials,
// $x(X) = \sum_j x_j X^j$. A circulant product is a product of polynomials modulo $X^m - 1$: where an exponent reaches
// $m$, it wraps around to 0. We choose another modulus, $X^{2m} + 1$ with $m \ge n$. An exponent that reaches $2m$ wraps
// around with the opposite sign. The lag $l < 0$ is therefore $X^l = -X^{2m+l}$, and all lags still have places of their
// own. The gain is in the factors:
//
// $$X^{2m} + 1 = (X^m - i)(X^m + i)$$
//
// A product modulo $X^{2m} + 1$ can then be computed in four steps.
//
// 1. *One factor is enough.* Cut a sequence of $2m$ numbers into the lower half $a_j = x_j$ and the upper half
//    $b_j = x_{m+j}$, $j = 0 \dots m-1$. The polynomial is $a(X) + X^m\, b(X)$. Modulo $X^m - i$, $X^m$ is $i$, so the
//    remainder is $a + i\,b$. Modulo $X^m + i$, $X^m$ is $-i$, so the remainder is $a - i\,b$. All $a_j$ and $b_j$ are
//    real. So the second remainder has the conjugate coefficients of the first and adds nothing. The first remainder
//    alone determines the polynomial. Its coefficients are $x_j + i\,x_{m+j}$: the lower half is the real part, the
//    upper half is the imaginary part.
// 2. *Remainders multiply.* $X^m - i$ divides $X^{2m} + 1$. So the product of two remainders, again modulo $X^m - i$,
//    is the remainder of the product. The product of real polynomials is real, so its two halves can be read off in the
//    same way.
// 3. *A substitution makes this modulus a usual one.* Take $\omega = e^{\pi i/2m}$, so that $\omega^m = i$, and write
//    $X = \omega Y$. Then $X^m = i\,Y^m$, and the modulus is $X^m - i = i\,(Y^m - 1)$. The factor $i$ in front does not
//    change remainders, so the modulus is $Y^m - 1$. Each power becomes $X^j = \omega^j\, Y^j$, so the coefficients
//    become $(x_j + i\,x_{m+j})\,\omega^j$.
// 4. *Fourier transforms multiply.* A product modulo $Y^m - 1$ is a circulant product of size $m$. Fourier transforms
//    of length $m$ compute it, as above. With $m = n$, that is half the length of the circulant's. Multiplying the
//    coefficients of the result by $\omega^{-j}$ returns from $Y$ to $X$.
Tensor twisted(const Tensor& lower, const Tensor& upper, double direction) {
  const std::int64_t m = lower.size(0);
  Numbers cosines, sines;
  for (std::int64_t j = 0; j < m; ++j) {
    const double angle =
        direction * M_PI * static_cast<double>(j) / static_cast<double>(2 * m);
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  return weft::complex(lower, upper) *
         weft::complex(Tensor::from(cosines, {m}), Tensor::from(sines, {m}));
}

// The upper half of $x$ is zero. The lower half of the coefficients is $t_0 \dots t_{n-1}$. The upper half holds the
// negative lags. A lag $l < 0$ has the exponent $2m + l$, which is index $m + l$ within the upper half, and the value
// there is $-t_l$. The result $y_0 \dots y_{n-1}$ is the lower half of the product, the real part of the remainder. We
// take $m = n$, so everything at positions outside of $0 \dots n-1$ is in the upper half, the imaginary part, and is
// dropped.
Tensor by_ring(const Tensor& t, const Tensor& x) {
  const std::int64_t n = x.size(0);  // any m >= n would do
  const Tensor none = Tensor::zeros({1}, DType::f64);
  const Tensor lower = weft::slice(t, 0, n - 1, 2 * n - 1);
  const Tensor upper =
      weft::scale(weft::concat({none, weft::slice(t, 0, 0, n - 1)}, 0), -1);
  const Tensor x_hat = weft::fft(twisted(x, weft::scale(x, 0), 1)),
               t_hat = weft::fft(twisted(lower, upper, 1));
  const Tensor remainder = weft::ifft(t_hat * x_hat);
  return weft::real(twisted(weft::real(remainder), weft::imag(remainder), -1));
}

STEP("By the ring") {
  expect_same("loops and ring", y13, by_ring(t13, x13));
  for (const std::int64_t n : {1, 2, 7, 64})
    expect_same("circulant and ring at another length",
                by_circulant(random({2 * n - 1}, 2), random({n}, 3)),
                by_ring(random({2 * n - 1}, 2), random({n}, 3)));
}

// What does the ring save? A real transform of $2n$ elements is computed by a complex one of $n$ elements and a pass
// that separates the two halves of the spectrum. In the ring, multiplications by $\omega^j$ replace this pass. They are
// done while $x$ is read and $y$ is written. No zeros are stored, nothing is dropped, and between reading $x$ and
// writing $y$ the library keeps everything in the cache.
// [Why rings and not circulants](../../ops/design/rings.md) has the details.
//
// The library's product takes many channels at once: $x$ has the shape (batch, heads, $n$, channels). A vector register
// holds 8 numbers in f64 under AVX-512, so we give it 8 channels and divide its time by 8.
Tensor by_library(const Tensor& t, const Tensor& x, std::int64_t channels) {
  const std::int64_t n = x.size(0);
  const Tensor many_x =
      weft::expand(weft::reshape(x, {1, 1, n, 1}), {1, 1, n, channels});
  const Tensor many_t =
      weft::expand(weft::reshape(t, {1, 2 * n - 1, 1}), {1, 2 * n - 1, channels});
  return weft::toeplitz_product(many_x, many_t, false, weft::ToeplitzForm::ring);
}

STEP("Time of a Toeplitz product") {
  expect_same("loops and library", y13, weft::reshape(by_library(t13, x13, 1), {13}));
  print("plot: Time of a product of one channel | n log | time in µs log");
  print("n, loops, matrix, circulant, ring by operations, library per channel");
  for (std::int64_t n = 16; n <= 2048; n *= 2) {
    const Tensor x = random({n}, 2), t = random({2 * n - 1}, 3),
                 matrix = toeplitz_matrix(t);
    const Numbers xs = x.to_vector<double>(), ts = t.to_vector<double>();
    print("%lld, %.2f, %.2f, %.2f, %.2f, %.3f", static_cast<long long>(n),
          microseconds([&] { (void)by_loops(ts, xs); }),
          microseconds([&] { (void)weft::matmul(matrix, x); }),
          microseconds([&] { (void)by_circulant(t, x); }),
          microseconds([&] { (void)by_ring(t, x); }),
          microseconds([&] { (void)by_library(t, x, 8); }) / 8);
  }
}

// `by_ring` consists of many small operations, so most of its time is their overhead. The library does the same in one
// pass.
//
// ## Causal, and many channels
//
// A language model must not look ahead: token $i$ may only see tokens $j \le i$. A Toeplitz matrix makes that easy. The
// coefficients of negative lags are 0, and only $t_0 \dots t_{n-1}$ remain. The matrix is lower triangular.
//
// Each channel has its own coefficients. Channels are divided into *heads*, as in attention. Here heads have no effect
// on the product. They only group the channels. From here on, $x$ has the shape $(b, h, n, d)$ for a batch of $b$
// sequences, $h$ heads and $d$ channels in a head. $t$ has the shape $(h, n, d)$ if causal, otherwise $(h, 2n-1, d)$.
// The function consists of operations that the tape can differentiate, so we need no code for the gradients.
Tensor mix(const Tensor& x, const Tensor& t, bool causal) {
  const std::int64_t h = x.size(1), n = x.size(2), d = x.size(3);
  const Tensor positive = causal ? t : weft::slice(t, 1, n - 1, 2 * n - 1);
  const Tensor negative =
      causal ? Tensor::zeros({h, n - 1, d}, DType::f64) : weft::slice(t, 1, 0, n - 1);
  const Tensor c =
      weft::concat({positive, Tensor::zeros({h, 1, d}, DType::f64), negative}, 1);
  const Tensor zeros = Tensor::zeros(x.shape(), DType::f64);
  const Tensor spectrum = weft::rfft(c, 1) * weft::rfft(weft::concat({x, zeros}, 2), 2);
  return weft::slice(weft::irfft(spectrum, 2 * n, 2), 2, 0, n);
}

STEP("Many channels, causal or not") {
  const Tensor x = random({2, 3, 7, 5}, 4);
  for (const bool causal : {true, false}) {
    const Tensor t = random({3, causal ? 7 : 13, 5}, 5);
    expect_same(causal ? "causal" : "bidirectional", mix(x, t, causal),
                weft::toeplitz_product(x, t, causal));
  }
}

// ## Token by token
//
// A language model writes by predicting a token, appending it, and predicting the next one. The forward pass over the
// whole sequence costs $O(n \log n)$ for each token, and most of it repeats what was computed before. In a causal
// product, the tokens up to $i$ contribute to all later positions, and the coefficients are known. So the fast product
// can add the contributions of many tokens to later positions as soon as these tokens are known. When token $i$ has
// arrived, let $s$ be the largest power of two that divides $i + 1$. The last $s$ tokens then contribute to the next
// $s$ positions:
//
// ![Each pair of a token and a later position lies in exactly one square](drawings/tiling.svg)
//
// The squares cover each pair of a token and a later position exactly once. Half of all tokens have a square of size 1,
// a quarter have a square of size 2, and so on. A square of size $s$ costs $O(s \log s)$ for its $s$ tokens, and there
// are $\log_2 n$ sizes. The cost for each token is therefore $O(\log^2 n)$.
class Online {
 public:
  explicit Online(Numbers t)
      : t_(std::move(t)), y_(t_.size()) {}  // causal coefficients t_0, t_1, …

  double append(double x) {
    x_.push_back(x);
    const std::size_t i = x_.size() - 1;
    y_[i] += t_[0] * x;
    const double result = y_[i];
    const std::size_t size =
        (i + 1) & ~i;  // the largest power of two that divides i + 1
    add_square(i + 1 - size, i + 1, size);
    return result;
  }

 private:
  // The tokens from `from` on contribute to the positions from `to` on: a Toeplitz product of `size` rows, with the lags
  // to - from - (size - 1) … to - from + (size - 1).
  void add_square(std::size_t from, std::size_t to, std::size_t size) {
    Numbers x, t;
    for (std::size_t j = 0; j < size; ++j) x.push_back(x_[from + j]);
    for (std::size_t k = 0; k < 2 * size - 1; ++k)
      t.push_back(lag(to - from + k + 1 - size));
    const Tensor product =
        by_ring(Tensor::from(t, {static_cast<std::int64_t>(t.size())}),
                Tensor::from(x, {static_cast<std::int64_t>(size)}));
    const Numbers more = product.to_vector<double>();
    for (std::size_t i = 0; i < size && to + i < y_.size(); ++i) y_[to + i] += more[i];
  }
  double lag(std::size_t k) const { return k < t_.size() ? t_[k] : 0; }

  Numbers t_, x_, y_;  // y_ has the contributions so far
};

STEP("Token by token, one channel") {
  const std::int64_t n = 100;
  const Tensor t = random({1, n, 1}, 11), x = random({1, 1, n, 1}, 12);
  Online online(t.to_vector<double>());
  Numbers y;
  for (const double next : x.to_vector<double>()) y.push_back(online.append(next));
  expect_same("token by token and all at once", Tensor::from(y, {1, 1, n, 1}),
              weft::toeplitz_product(x, t, true));
}

// ## Exercises
//
// 1. `by_ring` takes $m = n$. Choose the next power of two instead, with zeros between the lags. What must be padded?
// 2. A causal Toeplitz matrix is invertible if $t_0 \ne 0$, and its inverse is a causal Toeplitz matrix, too. Compute
//    its coefficients, and check them with `mix`.
// 3. In `Online::append`, let each square wait until one token before its result is needed. Which squares can be computed
//    together?

}  // namespace
