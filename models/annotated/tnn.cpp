// # TNN
//
// A Toeplitz neural network mixes the tokens of a sequence with weights that depend only on the distance between two
// tokens. This page builds such a network. It begins with two loops, and arrives at a product in $O(n \log n)$. Then
// come the small network that computes the weights, the layers, and a language model. The model is trained, runs on
// longer sequences, and writes token by token. Every step is compared with the one before it, and the layers and the
// model are compared with the library's.
//
// The paper is [Toeplitz Neural Network for Sequence Modeling](https://arxiv.org/abs/2305.04749) (Qin et al., ICLR
// 2023). The authors' programs are [OpenNLPLab/Tnn](https://github.com/OpenNLPLab/Tnn) and
// [tnn-pytorch](https://github.com/Doraemonzzz/tnn-pytorch).
#include <weft/config.h>
#include <weft/optimizer.h>
#include <weft/tnn.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weights.h"

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

// ## The relative position encoder
//
// If the coefficients were parameters, a model would have $2n - 1$ of them for each channel, and could not be used for
// sequences longer than $n$. The paper instead computes them with a small network (section 3.3), the *relative position
// encoder*. It is a function of the lag, and is the same for all lengths. Its number of parameters does not depend on
// $n$. It begins with one linear layer from the number $k$ to `rpe_dim` channels. Then come some layers of norm,
// activation and linear layer. The last one has as many outputs as there are channels to mix. The input is the lag
// itself, a real number.
Tensor norm_act_linear(const Weights& w, const Tensor& x) {
  const Tensor norm = weft::layer_norm(x, 1, w["0.weight"], w["0.bias"]);
  return weft::linear(weft::activation(norm, weft::Activation::relu), w["2.weight"],
                      w["2.bias"]);
}

Tensor position_encoder(const Weights& w, const weft::TnnConfig& config,
                        const Tensor& lags) {
  Tensor x =
      weft::linear(lags, w["pos_proj.weight"], w["pos_proj.bias"]);  // (m, rpe_dim)
  for (std::int64_t i = 0; i < config.rpe_layers; ++i)
    x = norm_act_linear(w.of("layers." + std::to_string(i)), x);
  return norm_act_linear(w.of("out"), x);  // (m, channels)
}

// We write out each part, and take the parameters from the library's layers by their names, which are those of the
// authors' program. `Weights` looks them up.
weft::TnnConfig small_config() {
  weft::TnnConfig config;
  config.d_model = 6;
  config.heads = 2;
  config.expand_ratio = 2;
  config.rpe_dim = 8;
  config.rpe_layers = 2;
  config.gamma = 0.9;
  return config;
}

weft::Init in_f64(std::uint64_t seed) {
  weft::Init init;
  init.random = weft::Random(seed);
  init.dtype = DType::f64;
  return init;
}

Tensor column_of_lags(std::int64_t first, std::int64_t end) {
  Numbers lags;
  for (std::int64_t k = first; k < end; ++k) lags.push_back(static_cast<double>(k));
  return Tensor::from(lags, {end - first, 1});
}

STEP("The relative position encoder") {
  const weft::Rpe library(12, small_config(), in_f64(2));
  const Weights w(weft::parameters_of(library));
  expect_same_gradients(
      [&](const Tensor& lags) { return position_encoder(w, small_config(), lags); },
      library, column_of_lags(-6, 7), w.all());
}

// ## Exponential decay
//
// The encoder computes a value for any lag, but nothing makes its values small at large lags. A model that was trained
// on short sequences gets arbitrary values for lags that it has never seen. In a longer sequence, these values would
// add distant tokens with arbitrary weights. The paper therefore multiplies the coefficients by a decay (section 3.4):
//
// $$t_k = \lambda^{|k|}\, \mathrm{rpe}(k), \qquad 0 < \lambda < 1$$
//
// The decay keeps the coefficients of large lags small, whatever the encoder computes for them. So tokens at unknown
// lags contribute little, and the model can run on sequences longer than those of its training. [A step
// below](#longer-than-it-was-trained-on) measures this. In the config, $\lambda$ is called `gamma`. With the default,
// 0.99, the weight of a token at distance 100 is multiplied by 37 %, and that of a token at distance 1000 by 0.004 %.
Tensor coefficients(const Weights& w, const weft::TnnConfig& config,
                    const Tensor& lags) {
  Numbers decay = lags.to_vector<double>();
  for (double& k : decay) k = std::pow(config.gamma, std::abs(k));
  return position_encoder(w.of("rpe"), config, lags) *
         Tensor::from(decay, lags.shape());  // (m, channels)
}

// The plot shows one channel of an encoder before training.
STEP("Coefficients with and without decay") {
  weft::TnnConfig config = small_config();
  config.gamma = 0.97;
  const weft::Tno tno(2, 6, config, true, in_f64(3));
  const Weights w(weft::parameters_of(tno));
  const Tensor lags = column_of_lags(0, 128);
  const Numbers without =
      position_encoder(w.of("rpe"), config, lags).to_vector<double>();
  const Numbers with = coefficients(w, config, lags).to_vector<double>();
  print("plot: Coefficients of one channel | lag | coefficient");
  print("lag, without decay, gamma = 0.97");
  for (std::size_t k = 0; k < 128; ++k)
    print("%zu, %.4f, %.4f", k, without[12 * k], with[12 * k]);
}

// ## The Toeplitz neural operator
//
// Encoder, decay and product together are the *Toeplitz neural operator* (Tno). For each channel of $x$, it computes
// the coefficients for the length of this $x$, and mixes the tokens. Output channel $c$ of the encoder belongs to
// channel $c \bmod d$ of head $\lfloor c / d \rfloor$.
Tensor tno(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
           bool causal) {
  const std::int64_t h = x.size(1), n = x.size(2), d = x.size(3);
  const Tensor t =
      coefficients(w, config, column_of_lags(causal ? 0 : 1 - n, n));  // (m, h d)
  return mix(x, weft::permute(weft::reshape(t, {-1, h, d}), {1, 0, 2}), causal);
}

STEP("The Toeplitz neural operator") {
  for (const bool causal : {true, false}) {
    print("%s:", causal ? "causal" : "bidirectional");
    const weft::Tno library(2, 6, small_config(), causal, in_f64(4));
    const Weights w(weft::parameters_of(library));
    expect_same_gradients(
        [&](const Tensor& x) { return tno(w, small_config(), x, causal); }, library,
        random({3, 2, 7, 6}, 6), w.all());
  }
}

// ## The gated Toeplitz unit
//
// The operator mixes tokens, each channel by itself, and it is linear in $x$. The *gated Toeplitz unit* (GTU, section
// 3.1) puts it between linear layers that mix channels, and adds a gate. $\odot$ is the product element by element:
//
// $$\mathrm{GTU}(x) = O\bigl(\phi(U x) \odot \mathrm{Tno}(\phi(V x))\bigr)$$
//
// $U$ and $V$ are linear layers to more channels (`expand_ratio` times as many), $O$ is a linear layer back to the
// original number of channels, and $\phi$ is the activation SiLU, $x/(1 + e^{-x})$. The gate $\phi(U x)$ depends on the
// content of token $i$, and decides how much of the mixed tokens passes. The operator is linear and only adds up
// contributions of tokens. The gate is the first part of a layer that combines the contents of different tokens
// nonlinearly.
Tensor dense(const Weights& w, const Tensor& x) {
  return weft::linear(x, w["weight"], w["bias"]);
}

Tensor gtu(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
           bool causal) {
  const std::int64_t b = x.size(0), n = x.size(1), h = config.heads;
  const Tensor u = weft::silu(dense(w.of("u_proj"), x)),
               v = weft::silu(dense(w.of("v_proj"), x));  // (b, n, h d)
  const Tensor heads =
      weft::permute(weft::reshape(v, {b, n, h, -1}), {0, 2, 1, 3});  // (b, h, n, d)
  const Tensor mixed =
      weft::permute(tno(w.of("toep"), config, heads, causal), {0, 2, 1, 3});
  return dense(w.of("o"), u * weft::reshape(mixed, v.shape()));
}

STEP("The gated Toeplitz unit") {
  const weft::Gtu library(6, small_config(), true, in_f64(5));
  const Weights w(weft::parameters_of(library));
  expect_same_gradients(
      [&](const Tensor& x) { return gtu(w, small_config(), x, true); },
      [&](const Tensor& x) { return library(x); }, random({2, 7, 6}, 7), w.all());
}

// ## The layer
//
// The second half of a layer is a *gated linear unit* (GLU), which mixes the channels of each token. It has the same
// formula without the operator:
//
// $$\mathrm{GLU}(x) = L_3\bigl(\phi(L_1 x) \odot L_2 x\bigr)$$
Tensor glu(const Weights& w, const Tensor& x) {
  return dense(w.of("l3"), weft::silu(dense(w.of("l1"), x)) * dense(w.of("l2"), x));
}

// A layer (figure 2 of the paper) applies both units. Each unit has a norm before it, and its result is added to its
// input:
//
// ![A layer of a TNN: norm, GTU, sum; norm, GLU, sum](drawings/tnn-layer.svg)
Tensor norm(const Weights& w, const Tensor& x) {
  return weft::layer_norm(x, 1, w["weight"], w["bias"]);
}

Tensor layer(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
             bool causal) {
  const Tensor mixed =
      x + gtu(w.of("token_mixer"), config, norm(w.of("token_norm"), x), causal);
  return mixed + glu(w.of("feature_mixer"), norm(w.of("feature_norm"), mixed));
}

STEP("The layer") {
  for (const bool causal : {true, false}) {
    print("%s:", causal ? "causal" : "bidirectional");
    const weft::TnnLayer library(6, small_config(), causal, in_f64(6));
    const Weights w(weft::parameters_of(library));
    expect_same_gradients(
        [&](const Tensor& x) { return layer(w, small_config(), x, causal); },
        [&](const Tensor& x) { return library(x); }, random({2, 7, 6}, 8), w.all());
  }
}

// ## A language model
//
// A language model reads tokens, here numbers below 8, and predicts the next token at every position. The model looks
// up a row of the embedding for each token, scales it by $\sqrt{d}$, runs the layers and a last norm, and compares the
// result with every row of the embedding. These products are the *logits*. The larger a logit, the more likely the
// token.
constexpr std::int64_t symbols = 8;

Tensor language_model(const Weights& w, const weft::TnnConfig& config,
                      const Tensor& tokens) {
  Tensor x = weft::embedding(tokens, w["embedding.weight"]);  // (b, n, d)
  x = weft::scale(x, std::sqrt(static_cast<double>(config.d_model)));
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = layer(w.of("layers." + std::to_string(i)), config, x, true);
  return weft::linear(norm(w.of("norm"), x), w["embedding.weight"]);  // (b, n, symbols)
}

// The task shows what a filter by distance can do. Each sequence begins with five random tokens and then repeats them,
// so every token is the same as the token five places before it. Sequences have different tokens, so the model must
// learn the distance instead of the tokens.
constexpr std::int64_t period = 5;

std::vector<std::int64_t> repeating(std::int64_t sequences, std::int64_t length,
                                    std::uint64_t stream) {
  const weft::Random random(9, stream);
  std::vector<std::int64_t> tokens;
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t i = 0; i < length; ++i)
      tokens.push_back(static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(s * period + i % period),
                       static_cast<std::uint64_t>(symbols))));
  return tokens;
}

// A batch of inputs, and of the tokens that follow them. The first five tokens cannot be predicted, so the loss does not
// count them: the target -100 means "ignore".
struct Batch {
  Tensor input, target;  // (b, n)
};

Batch batch(std::int64_t sequences, std::int64_t n, std::uint64_t stream) {
  const std::vector<std::int64_t> all = repeating(sequences, n + 1, stream);
  std::vector<std::int64_t> input, target;
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(s * (n + 1) + i);
      input.push_back(all[at]);
      target.push_back(i + 1 < period ? -100 : all[at + 1]);
    }
  return {Tensor::from(input, {sequences, n}), Tensor::from(target, {sequences, n})};
}

// From here on we use the library's model. `make_model` makes a model by the name of its architecture, with its config
// as JSON.
weft::TnnConfig model_config() {
  weft::TnnConfig config;
  config.d_model = 16;
  config.layers = 1;
  config.rpe_dim = 16;
  config.rpe_layers = 1;
  config.gamma = 0.95;
  return config;
}

std::unique_ptr<weft::Model> make_language_model() {
  weft::ModelSpec spec;
  spec.arch = "tnn";
  spec.vocabulary = symbols;
  spec.config = weft::config_to_json(model_config());
  return weft::make_model(spec, in_f64(10));
}

STEP("A language model") {
  const auto model = make_language_model();
  const Weights w(model->parameters());
  expect_same_gradients(
      [&](const Tensor& tokens) { return language_model(w, model_config(), tokens); },
      [&](const Tensor& tokens) { return (*model)(tokens); }, batch(2, 13, 0).input,
      w.all());
}

// ## Training
//
// Training repeats four lines: run the model on a batch while a tape records, compute the loss, walk the tape back for
// the gradients, and let the optimizer change the parameters. The loss is the cross entropy in nats. A model that knows
// nothing has a loss of $\ln 8 = 2.08$. A model that always knows the next token has a loss of 0.
double train_step(const weft::Model& model, weft::Optimizer& optimizer,
                  std::int64_t step) {
  const Batch data = batch(16, 32, static_cast<std::uint64_t>(step));
  optimizer.parameters().zero_gradients();
  weft::Tape tape;
  const Tensor loss = weft::cross_entropy(model(data.input), data.target);
  tape.backward(loss, optimizer.parameters());
  optimizer.step(step, 5e-3);
  return loss.item();
}

// For the steps below, we keep the trained model, and the mean size of its coefficients before and after training. To
// predict token $i + 1$, which equals token $i - 4$, the model must look four places back.
struct Trained {
  std::unique_ptr<weft::Model> model = make_language_model();
  std::vector<double> losses;
  Numbers before, after;  // mean |t_k| of all channels, k = 0 … 15
};

Numbers mean_coefficients(const weft::Model& model) {
  const Weights w(model.parameters());
  const Tensor t = coefficients(w.of("layers.0.token_mixer.toep"), model_config(),
                                column_of_lags(0, 16))
                       .detach();
  const Tensor size = weft::sqrt(weft::square(t));
  return weft::mean(size, {1}).to_vector<double>();
}

const Trained& trained() {
  static const Trained result = [] {
    Trained run;
    run.before = mean_coefficients(*run.model);
    weft::Optimizer optimizer(run.model->parameters(), {});
    for (std::int64_t step = 1; step <= 300; ++step)
      run.losses.push_back(train_step(*run.model, optimizer, step));
    run.after = mean_coefficients(*run.model);
    return run;
  }();
  return result;
}

STEP("Training") {
  const std::vector<double>& losses = trained().losses;
  print("plot: Loss in training | step | nats per token");
  print("step, loss");
  for (std::size_t step = 0; step < losses.size(); step += 10)
    print("%zu, %.3f", step + 1, losses[step]);
  print("%s", "");
  expect("the last loss is below a tenth of the first",
         losses.back() < losses.front() / 10);
}

// What has the model learned? The mean size of the coefficients over all channels shows it: lag 4 has the largest
// coefficients.
STEP("What it learned") {
  print(
      "plot: Mean size of the coefficients | lag | mean absolute value over all "
      "channels");
  print("lag, before training, after training");
  for (std::size_t k = 0; k < 16; ++k)
    print("%zu, %.4f, %.4f", k, trained().before[k], trained().after[k]);
  print("%s", "");
  std::size_t largest = 0;
  for (std::size_t k = 0; k < 16; ++k)
    if (trained().after[k] > trained().after[largest]) largest = k;
  expect("lag 4 has the largest coefficients", largest == 4);
}

// ## Longer than it was trained on
//
// The model was trained on sequences of 32 tokens. No parameter of the model has that size, and [the
// decay](#exponential-decay) keeps the coefficients of lags beyond 32 small. So it can run on longer sequences (section
// 3.4 and the experiments of section 4). We measure the loss in groups of 16 positions of sequences with 256 tokens.
STEP("Longer than it was trained on") {
  const std::int64_t n = 256, sequences = 8;
  const Batch data = batch(sequences, n, 1000000);
  const Tensor logits = (*trained().model)(data.input);
  print("plot: Loss by position; training ended at 32 | position | nats per token");
  print("position, loss");
  double worst = 0;
  for (std::int64_t at = 0; at < n; at += 16) {
    const Tensor loss = weft::cross_entropy(weft::slice(logits, 1, at, at + 16),
                                            weft::slice(data.target, 1, at, at + 16));
    worst = std::max(worst, loss.item());
    print("%lld, %.3f", static_cast<long long>(at + 8), loss.item());
  }
  print("%s", "");
  expect("the loss stays below 1 nat at all positions", worst < 1);
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

// In this scheme, most tokens take little time, but some take much: token $2^k - 1$ waits for a square of $2^k$ rows.
// In the library's stream, the positions to which a square of size $s$ contributes begin at least $s$ positions, one
// whole block, after the square's last token. The stream computes the square in small pieces while the tokens of this
// block arrive, so no token waits long. [The streaming convolution](../../models/design/streaming.md) describes it.
// `Model::stream` gives the same logits as a forward pass over the text so far:
STEP("Token by token, the whole model") {
  const weft::Model& model = *trained().model;
  const std::int64_t n = 200;
  const Tensor tokens = batch(1, n, 2000000).input;
  const Tensor all = model(tokens);  // (1, n, symbols)
  const auto stream = model.stream();
  const std::vector<std::int64_t> ids = tokens.to_vector<std::int64_t>();
  std::vector<Tensor> rows;
  for (const std::int64_t id : ids)
    rows.push_back(weft::reshape(stream->next(id), {1, 1, symbols}));
  expect_same("logits of the stream and of the forward pass", weft::concat(rows, 1),
              all);
}

// The stream's time for a token hardly grows, while the time of a forward pass grows with the length of the text:
STEP("Time of a token") {
  const weft::Model& model = *trained().model;
  print("plot: Time of the next token | tokens so far log | time in µs log");
  print("tokens, forward pass, stream");
  for (std::int64_t n = 64; n <= 2048; n *= 2) {
    const Tensor tokens = batch(1, n, 3000000).input;
    const double forward = microseconds([&] { (void)model(tokens); });
    const auto stream = model.stream();
    (void)stream->append(tokens);
    std::int64_t next = 0;
    const double one = microseconds([&] { (void)stream->next(next++ % symbols); });
    print("%lld, %.0f, %.1f", static_cast<long long>(n), forward, one);
  }
}

// ## Exercises
//
// 1. Set `gamma` to 1 in `model_config`. How does the loss change beyond position 32, and why?
// 2. Change the task: each token is the sum, modulo 8, of the tokens 3 and 5 places before. Does one layer suffice?
//    Which part of the layer must compute the sum?
// 3. `by_ring` takes $m = n$. Choose the next power of two instead, with zeros between the lags. What must be padded?
// 4. A causal Toeplitz matrix is invertible if $t_0 \ne 0$, and its inverse is a causal Toeplitz matrix, too. Compute
//    its coefficients, and check them with `mix`.
// 5. In `Online::append`, let each square wait until one token before its result is needed. Which squares can be computed
//    together?
// 6. FNet's mixing is not a Toeplitz matrix. Print the matrix of its transform along the tokens for $n = 4$, and find
//    the rule for its elements. What does a TNN gain by depending on $i - j$ only?

}  // namespace
