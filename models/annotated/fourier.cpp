// # Fourier transforms
// The discrete Fourier transform splits a signal into waves. Computed by its definition it takes $n^2$ multiplications.
// The *fast* Fourier transform (FFT) takes about $n \log n$ and gives the same numbers. This page develops it in small
// steps: a matrix, a recursion, three loops in place, any length, real input, and weft's own transform.
//
// The recursion is that of Cooley and Tukey, *An algorithm for the machine calculation of complex Fourier series*
// (Mathematics of Computation 19, 1965, pages 297-301). The step to any length is from Bluestein, *A linear filtering
// approach to the computation of discrete Fourier transform* (IEEE Transactions on Audio and Electroacoustics 18, 1970,
// pages 451-455). Two well-known pages on the subject are
// [Understanding the FFT algorithm](https://jakevdp.github.io/blog/2013/08/28/understanding-the-fft/) and
// [Fast Fourier transform](https://cp-algorithms.com/algebra/fft.html). This page also counts the operations, and
// measures time and accuracy.
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "signals.h"
#include "step.h"

namespace {

// ## The transform
// A signal is a list of $n$ numbers, $x_0, \dots, x_{n-1}$. Its transform is a list of $n$ complex numbers:
//
// $$y_k = \sum_{j=0}^{n-1} x_j \, \omega^{jk}, \qquad \omega = e^{-2 \pi i / n}$$
//
// The number $\omega$ is a *root of unity*: $\omega^n = 1$. Its powers are points on the unit circle, and each
// multiplication by $\omega$ turns by one $n$-th of the circle, clockwise. So $\omega^{-jk}$, as a function of $j$, is
// a wave that makes $k$ counterclockwise turns while $j$ runs through the signal. If the signal is this wave, the
// factor $\omega^{jk}$ unwinds it: all $n$ products are 1, and $y_k = n$. If the signal is a wave with another number
// of turns, the products keep turning, and their sum is 0, as we will see. So $y_k$ says how much of the wave with $k$
// turns the signal contains.
//
// All algorithms on this page read the powers of $\omega$ from a table. There are only $n$ of them, because
// $\omega^{jk}$ depends only on the remainder of $jk$ divided by $n$. The table is computed in `long double` and
// rounded once, so that its errors do not limit the accuracy. `C` is the type of complex numbers. We will use three of
// them.
template <class C>
std::vector<C> roots_of_unity(std::size_t n) {
  const long double turn = 2 * std::acos(-1.0L);
  std::vector<C> w;
  for (std::size_t k = 0; k < n; ++k)
    w.push_back(C(std::polar(
        1.0L, -turn * static_cast<long double>(k) / static_cast<long double>(n))));
  return w;
}

// The definition is a product of the matrix $F_{kj} = \omega^{jk}$ with the vector $x$. The exponent $jk$ modulo $n$ is
// updated by addition.
template <class C>
std::vector<C> dft(const std::vector<C>& x, const std::vector<C>& w) {
  const std::size_t n = x.size();
  std::vector<C> y(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0, power = 0; j < n; ++j) {
      y[k] = y[k] + x[j] * w[power];
      power += k;
      if (power >= n) power -= n;
    }
  return y;
}

// The first signal is $x_j = \cos(2 \pi \cdot 3 j / n) + \tfrac{1}{2} \cos(2 \pi \cdot 7 j / n)$. A real cosine is the
// mean of two opposite turns, $\cos \varphi = \tfrac{1}{2} (e^{i \varphi} + e^{-i \varphi})$. So the spectrum has peaks
// at $k = 3$ and $k = 7$, and their mirror images at $n - 3$ and $n - 7$, since $-3$ turns look like $n - 3$ turns at
// the $n$ points. The heights are $n / 2$ and $n / 4$.
STEP("A signal of two waves") {
  expect_same("the roots for n = 4, and 1, -i, -1, i", roots_of_unity<Complex>(4),
              {1, {0, -1}, -1, {0, 1}});
  const std::size_t n = 32;
  const Signal w = roots_of_unity<Complex>(n);
  Signal x, expected(n);
  for (std::size_t j = 0; j < n; ++j)
    x.push_back(w[3 * j % n].real() + 0.5 * w[7 * j % n].real());
  expected[3] = expected[n - 3] = n / 2.0;
  expected[7] = expected[n - 7] = n / 4.0;
  const Signal y = dft(x, w);
  expect_same("the spectrum, and its four peaks", y, expected);
  print("plot: Spectrum of two waves | k | absolute value of the spectrum");
  print("k, two waves");
  for (std::size_t k = 0; k < n; ++k) print("%zu, %.1f", k, std::abs(y[k]));
}

// ## The inverse
// Multiply one wave by the complex conjugate of another, and add up the products. This is a geometric sum:
//
// $$\sum_{j=0}^{n-1} \omega^{jk} \, \overline{\omega^{jl}} = \sum_{j=0}^{n-1} \left( \omega^{k-l} \right)^j$$
//
// For $k = l$ all terms are 1, and the sum is $n$. For any other $k$ and $l$, with $q = \omega^{k-l}$, the sum is
// $(q^n - 1) / (q - 1)$, and this is 0, because $q^n = 1$. The terms are spread evenly around the circle and cancel.
//
// In terms of matrices, $F \bar{F} = n I$. So the inverse transform is the same sum with $\bar{\omega}$ instead of
// $\omega$, divided by $n$. Any algorithm for the transform yields the inverse: conjugate the input and the output.
template <class F>
Signal inverse(const F& transform, Signal y) {
  for (Complex& z : y) z = std::conj(z);
  y = transform(y);
  for (Complex& z : y) z = std::conj(z) / static_cast<double>(y.size());
  return y;
}

// The signals for all following comparisons are random numbers (`random_signal`). The comparisons run over many lengths.
// `all` applies a function to a signal of each length, and collects the results in one list. Both are in `signals.h`.
//
// A consequence of $F \bar{F} = n I$ is *Parseval's theorem*: the transform keeps the energy of a signal, up to a
// factor, $\sum_k |y_k|^2 = n \sum_j |x_j|^2$.
Signal by_matrix(const Signal& x) { return dft(x, roots_of_unity<Complex>(x.size())); }

STEP("The inverse") {
  expect_same("a signal, and the inverse of its transform",
              all(any_lengths, [](const Signal& x) { return x; }),
              all(any_lengths,
                  [](const Signal& x) { return inverse(by_matrix, by_matrix(x)); }));
  const Signal x = random_signal(1, 97);
  expect_same("the energy of a spectrum, and n times that of the signal",
              energy(by_matrix(x)), 97 * energy(x));
}

// ## Counting
// Claims about costs are easy to make and easy to get wrong, so the program counts. `Counted` is a complex number that
// counts its multiplications and additions. The algorithms are templates over the type of their numbers. With `Complex`
// they only compute, and with `Counted` they also count. Conjugation only flips a sign, so it is not counted.
//
// A complex multiplication consists of 4 real multiplications and 2 real additions. A subtraction counts as an
// addition. `Counted` is in `signals.h`, too, and so is `count`, which returns the counts of a function.
Count count_of_matrix(std::size_t n) {
  const auto w = roots_of_unity<Counted>(n);
  return count([&] { return dft(std::vector<Counted>(n), w); });
}

STEP("The matrix needs n^2 multiplications") {
  for (const std::size_t n : {8, 64}) {
    const Count c = count_of_matrix(n);
    print("n = %zu: %zu multiplications, %zu additions", n, c.multiplications,
          c.additions);
    expect("n^2 of each", c.multiplications == n * n && c.additions == n * n);
  }
}

// ## Two halves
// Let $n$ be even. Split the sum into the terms with even and odd $j$:
//
// $$y_k = \sum_{j=0}^{n/2-1} x_{2j} \, \omega^{2jk} + \omega^k \sum_{j=0}^{n/2-1} x_{2j+1} \, \omega^{2jk}$$
//
// Now $\omega^2 = e^{-2 \pi i / (n/2)}$ is the root of unity for $n/2$. So both sums are transforms of half the length.
// Let $E$ be the transform of the even elements, and $O$ that of the odd elements. They have period $n/2$ in $k$, and
// $\omega^{k + n/2} = -\omega^k$, because $n/2$ steps are half a turn. So one product serves two results:
//
// $$y_k = E_k + \omega^k O_k, \qquad y_{k+n/2} = E_k - \omega^k O_k, \qquad 0 \le k < n/2$$
//
// If $n$ is a power of two, the halves can be split in the same way, down to length 1, where the transform is the
// signal itself. The table $w$ is that of the whole length. A part of length $n$ uses every `stride`-th root of this
// table.
template <class C>
std::vector<C> fft_recursive(const std::vector<C>& x, const std::vector<C>& w) {
  const std::size_t n = x.size(), stride = w.size() / n;
  if (n == 1) return x;
  std::vector<C> even, odd, y(n);
  for (std::size_t j = 0; j < n; j += 2) {
    even.push_back(x[j]);
    odd.push_back(x[j + 1]);
  }
  const std::vector<C> e = fft_recursive(even, w), o = fft_recursive(odd, w);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const C turned = w[k * stride] * o[k];
    y[k] = e[k] + turned;
    y[k + n / 2] = e[k] - turned;
  }
  return y;
}

// The cost follows from the code. There are $\log_2 n$ levels. The parts of one level have $n$ elements together, and
// need $n/2$ multiplications and $n$ additions. The total is $\tfrac{n}{2} \log_2 n$ and $n \log_2 n$.
STEP("The recursion") {
  expect_same("transforms by the matrix and by the recursion",
              all(powers_of_two, by_matrix), all(powers_of_two, [](const Signal& x) {
                return fft_recursive(x, roots_of_unity<Complex>(x.size()));
              }));
  for (const std::size_t n : {8, 64, 1024}) {
    const auto w = roots_of_unity<Counted>(n);
    const Count c = count([&] { return fft_recursive(std::vector<Counted>(n), w); });
    print("n = %zu: %zu multiplications, %zu additions", n, c.multiplications,
          c.additions);
    expect("n/2 log2(n) and n log2(n)",
           c.multiplications == n / 2 * log2_of(n) && c.additions == n * log2_of(n));
  }
}

// ## In place
// The recursion allocates new vectors for each part. All of them can go. Look where the elements end up: the first
// split puts the elements with an even index, whose last bit is 0, into the first half. The next split does the same
// with the second to last bit, within each half. At the end, the element with the bits $b_2 b_1 b_0$ is at the position
// $b_0 b_1 b_2$: its bits are reversed. Position 1 of 8 has element 4, because 001 reversed is 100.
std::size_t reversed(std::size_t i, std::size_t bits) {
  std::size_t r = 0;
  for (std::size_t b = 0; b < bits; ++b) r = r << 1 | (i >> b & 1);
  return r;
}

// Reversing twice gives the old index. So the elements are exchanged in pairs, each pair once.
template <class C>
void reverse_bits(std::vector<C>& x) {
  const std::size_t bits = log2_of(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i < reversed(i, bits)) std::swap(x[i], x[reversed(i, bits)]);
}

// The rest of the recursion combines parts of length 1 to parts of length 2, these to parts of length 4, and so on. The
// formula reads $E_k$ and $O_k$ and writes $y_k$ and $y_{k+n/2}$, at the same two places of the array. So each pair is
// computed in place. In the drawing, a pair looks like a *butterfly*.
//
// ![The butterflies for n = 8: three passes over the elements in bit-reversed order](drawings/butterflies.svg)
//
// Read it from left to right. Each line carries a number, and $\omega$ is the root for $n = 8$. The lower number of a
// butterfly is first multiplied by the power of $\omega$ above its line. Then the two numbers cross: the upper result
// is their sum, and the lower result is their difference, which the minus sign marks. There are three passes of four
// butterflies, so 12 multiplications.
template <class C>
void fft_in_place(std::vector<C>& x, const std::vector<C>& w) {
  const std::size_t n = x.size();
  reverse_bits(x);
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t start = 0; start < n; start += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        C& upper = x[start + k];
        C& lower = x[start + half + k];
        const C turned = w[k * (w.size() / (2 * half))] * lower;
        lower = upper - turned;
        upper = upper + turned;
      }
}

template <class C>
std::vector<C> fft_of(std::vector<C> x, const std::vector<C>& w) {
  fft_in_place(x, w);
  return x;
}

Signal by_passes(const Signal& x) {
  return fft_of(x, roots_of_unity<Complex>(x.size()));
}

STEP("In place, with bit reversal") {
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6, 7};
  reverse_bits(order);
  print("order for n = 8: %zu %zu %zu %zu %zu %zu %zu %zu", order[0], order[1],
        order[2], order[3], order[4], order[5], order[6], order[7]);
  expect_same("transforms by the recursion and in place",
              all(powers_of_two,
                  [](const Signal& x) {
                    return fft_recursive(x, roots_of_unity<Complex>(x.size()));
                  }),
              all(powers_of_two, by_passes));
  expect_same("a signal, and the inverse in place of its transform",
              all(powers_of_two, [](const Signal& x) { return x; }),
              all(powers_of_two,
                  [](const Signal& x) { return inverse(by_passes, by_passes(x)); }));
}

// ## Convolutions become products
// The transform is useful far beyond spectra, because of one theorem. A *circular convolution* of two signals is
//
// $$y_i = \sum_{j=0}^{n-1} c_{(i-j) \bmod n} \, x_j$$
//
// It is the product of $x$ with a *circulant* matrix, whose column $j$ is $c$ shifted down by $j$. By the definition it
// takes $n^2$ multiplications.
Signal convolution(const Signal& c, const Signal& x) {
  const std::size_t n = x.size();
  Signal y(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i] += c[(i + n - j) % n] * x[j];
  return y;
}

// Write hats for transforms. To find $\hat{y}_k$, transform the definition, and put $l = i - j$. The factor
// $\omega^{ik}$ splits into $\omega^{lk} \omega^{jk}$, and then the double sum splits, too:
//
// $$\sum_i \sum_j c_{i-j} x_j \omega^{ik} = \sum_l c_l \omega^{lk} \sum_j x_j \omega^{jk} = \hat{c}_k \hat{x}_k$$
//
// The remainder modulo $n$ does no harm, because $\omega^n = 1$. So a circular convolution is an elementwise product of
// spectra: transform both signals, multiply, transform back. This takes three transforms and $n$ multiplications.
template <class F>
Signal convolution_by(const F& transform, const Signal& c, const Signal& x) {
  const Signal spectrum = transform(c);
  Signal product = transform(x);
  for (std::size_t k = 0; k < x.size(); ++k) product[k] *= spectrum[k];
  return inverse(transform, product);
}

// Here is the same in the language of linear algebra. The waves $e^{2 \pi i jk / n}$ are eigenvectors of *every*
// circulant matrix, since a shifted wave is the wave times a number. The eigenvalues are $\hat{c}_k$. The transform
// changes to the basis of the eigenvectors, where the matrix is diagonal. The step checks the wave with $k = 3$.
//
// The library's `circulant_product` has the same definition for real tensors, with a batch axis and a channel axis.
// Both have size 1 here.
STEP("A convolution is a product of spectra") {
  const Signal c = random_signal(1, 64), x = random_signal(2, 64);
  expect_same("the convolution by loops and by spectra", convolution(c, x),
              convolution_by(by_passes, c, x));

  const Signal w = roots_of_unity<Complex>(64);
  Signal wave, scaled;
  for (std::size_t j = 0; j < 64; ++j) {
    wave.push_back(std::conj(w[3 * j % 64]));
    scaled.push_back(by_passes(c)[3] * wave[j]);
  }
  expect_same("the convolution of a wave, and the wave times an eigenvalue",
              convolution(c, wave), scaled);

  const weft::Tensor library =
      weft::circulant_product(weft::reshape(real_part(x), {1, 64, 1}), real_part(c));
  expect_same("the convolution of real signals, by loops and by the library",
              real_part(convolution(only_real(c), only_real(x))),
              weft::reshape(library, {64, 1}));
}

// ## Any length
// The recursion needs a power of two. For a prime $n$ nothing can be split. Bluestein's idea is to turn the transform
// into a convolution, and to compute the convolution with a length that *is* a power of two. It begins with a small
// identity:
//
// $$jk = \frac{j^2 + k^2 - (k - j)^2}{2}$$
//
// With $u_j = \omega^{j^2/2} = e^{-\pi i j^2 / n}$, a signal that turns faster and faster and is called a *chirp*, the
// transform becomes
//
// $$y_k = \sum_j x_j \omega^{j^2/2} \omega^{k^2/2} \omega^{-(k-j)^2/2} = u_k \sum_j (x_j u_j) \overline{u_{k-j}}$$
//
// So multiply $x$ by the chirp, convolve with the conjugate chirp, and multiply by the chirp again.
//
// This convolution does not wrap around: $k - j$ runs from $-(n-1)$ to $n - 1$, so there are $2n - 1$ offsets. A
// circle of $m \ge 2n - 1$ places has room for all of them. Place $l$ holds $\overline{u_l}$ for $0 \le l < n$, and
// place $m - l$ holds the factor for $-l$, which is the same number, because of the square. The signal is padded with
// zeros to length $m$. Then the remainder modulo $m$ never confuses two offsets, and the first $n$ results are right.
// The length $m$ is the smallest power of two with enough room.
//
// The chirp depends only on $n$, so its table and the spectrum of the circle are computed once. The table of
// $e^{-\pi i j^2 / n}$ has the roots of unity for $2n$, and $j^2$ is reduced modulo $2n$ before the root is looked up.
// The factor $1/m$ of the inverse transform goes into the spectrum.
template <class C>
struct Bluestein {
  std::size_t n, m;
  std::vector<C> roots, chirp, spectrum;

  explicit Bluestein(std::size_t length)
      : n(length), m(std::size_t{1} << log2_of(2 * n - 1)) {
    roots = roots_of_unity<C>(m);
    const std::vector<C> half_steps = roots_of_unity<C>(2 * n);
    for (std::size_t j = 0; j < n; ++j) chirp.push_back(half_steps[j * j % (2 * n)]);
    spectrum.resize(m);
    for (std::size_t l = 0; l < n; ++l)
      spectrum[l] = spectrum[(m - l) % m] = conj(chirp[l]);
    fft_in_place(spectrum, roots);
    for (C& z : spectrum) z = z * C(Complex(1 / static_cast<double>(m)));
  }

  // Each call makes two transforms of length $m$: one forward, and one back by conjugation.
  std::vector<C> operator()(const std::vector<C>& x) const {
    std::vector<C> z(m), y;
    for (std::size_t j = 0; j < n; ++j) z[j] = x[j] * chirp[j];
    fft_in_place(z, roots);
    for (std::size_t k = 0; k < m; ++k) z[k] = conj(z[k] * spectrum[k]);
    fft_in_place(z, roots);
    for (std::size_t k = 0; k < n; ++k) y.push_back(conj(z[k]) * chirp[k]);
    return y;
  }
};

// A call needs $m \log_2 m$ multiplications for the two transforms, $m$ for the product of the spectra, and $2n$ for
// the chirps. For $n > 1$, $m$ is between $2n$ and $4n - 4$, so this is several times the cost of a power of two near
// $n$. But it grows like $n \log n$ for every $n$.
Signal by_bluestein(const Signal& x) { return Bluestein<Complex>(x.size())(x); }

Count count_of_bluestein(std::size_t n) {
  const Bluestein<Counted> transform(n);
  return count([&] { return transform(std::vector<Counted>(n)); });
}

STEP("Any length, by Bluestein's convolution") {
  expect_same("transforms by the matrix and by Bluestein", all(any_lengths, by_matrix),
              all(any_lengths, by_bluestein));
  for (const std::size_t n : {17, 1021}) {
    const std::size_t m = Bluestein<Counted>(n).m;
    const Count c = count_of_bluestein(n);
    print("n = %zu, m = %zu: %zu multiplications, the matrix needs %zu", n, m,
          c.multiplications, n * n);
    expect("m is at least 2n - 1, and less than 4n", m >= 2 * n - 1 && m < 4 * n);
    expect("m log2(m) + m + 2n", c.multiplications == m * log2_of(m) + m + 2 * n);
  }
}

// ## Real signals
// Signals are often real. Then $y_{n-k} = \sum_j x_j \, \omega^{-jk} = \overline{y_k}$. The second half of the spectrum
// mirrors the first, and $y_0, \dots, y_{n/2}$ contain everything. Half of the result should cost about half of the
// work.
//
// Let $n$ be even and $m = n/2$. Pack two real numbers into each complex one, $z_j = x_{2j} + i x_{2j+1}$, and
// transform these $m$ numbers. The result is $Z = E + i O$, where $E$ and $O$ are the transforms of the even and the
// odd elements, as in the recursion. Both belong to real signals, so both have the symmetry:
//
// $$\overline{Z_{m-k}} = \overline{E_{m-k}} - i \, \overline{O_{m-k}} = E_k - i O_k$$
//
// So the sum and the difference of $Z_k$ and $\overline{Z_{m-k}}$ separate $E_k$ and $O_k$. The last step of the
// recursion then gives $y_k = E_k + \omega^k O_k$:
//
// $$E_k = \frac{Z_k + \overline{Z_{m-k}}}{2}, \quad O_k = \frac{Z_k - \overline{Z_{m-k}}}{2i}$$
//
// Here $Z_m$ means $Z_0$. The code halves the signal while it packs. The division by $i$ exchanges the two parts of a
// number: $(a + bi) / i = b - ai$. Neither is counted as a complex multiplication.
Complex divided_by_i(const Complex& z) { return {z.imag(), -z.real()}; }
Counted divided_by_i(const Counted& z) { return Counted(divided_by_i(z.value)); }

// The table `w` has the $n$ roots for the whole length. `fft_in_place` takes every second one.
template <class C>
std::vector<C> real_fft(const std::vector<double>& x, const std::vector<C>& w) {
  const std::size_t m = x.size() / 2;
  std::vector<C> z, y;
  for (std::size_t j = 0; j < m; ++j)
    z.push_back(C(Complex(x[2 * j] / 2, x[2 * j + 1] / 2)));
  fft_in_place(z, w);
  for (std::size_t k = 0; k <= m; ++k) {
    const C here = z[k % m], mirrored = conj(z[(m - k) % m]);
    y.push_back((here + mirrored) + w[k] * divided_by_i(here - mirrored));
  }
  return y;
}

Count count_of_real(std::size_t n) {
  const auto w = roots_of_unity<Counted>(n);
  return count([&] { return real_fft(std::vector<double>(n), w); });
}

// The half transform needs $\tfrac{m}{2} \log_2 m$ multiplications, and the separation needs $m + 1$.
STEP("Real signals at half the price") {
  for (const std::size_t n : {2, 16, 256}) {
    const std::vector<double> x = real_numbers(n, n);
    const Signal whole = by_passes(Signal(x.begin(), x.end()));
    Signal mirrored(whole.begin() + 1, whole.end());
    std::reverse(mirrored.begin(), mirrored.end());
    for (Complex& z : mirrored) z = std::conj(z);
    print("n = %zu", n);
    expect_same("the spectrum, and its conjugated mirror image",
                Signal(whole.begin() + 1, whole.end()), mirrored);
    expect_same(
        "the first n/2 + 1 elements, by the whole and by the half transform",
        Signal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n / 2 + 1)),
        real_fft(x, roots_of_unity<Complex>(n)));
  }
  const std::size_t n = 1024, m = n / 2;
  print("multiplications for n = 1024: %zu complex, %zu real", n / 2 * log2_of(n),
        count_of_real(n).multiplications);
  expect("m/2 log2(m) + m + 1",
         count_of_real(n).multiplications == m / 2 * log2_of(m) + m + 1);
}

// ## The library's transform
// `weft::fft` transforms along one axis of a tensor, for any length, and `ifft` is its inverse. It uses the ideas of
// this page, and some more. Its recursion splits not only into 2 parts, but also into 3, 4, 5, 7, 8, 11, 13 and 16.
// Larger splits need fewer passes through memory. A length with a larger prime factor uses Bluestein's method. The
// tables are computed once for each length, and the passes use vector instructions. `rfft` takes real signals of any
// length, and returns the first $n/2 + 1$ elements, with $n/2$ rounded down.
Signal by_library(const Signal& x) { return weft::fft(tensor(x)).to_vector<Complex>(); }

STEP("The library's transform") {
  expect_same("transforms by the matrix and by the library",
              all(any_lengths, by_matrix), all(any_lengths, by_library));
  expect_same("transforms by Bluestein and by the library",
              all({509, 1000, 1021}, by_bluestein), all({509, 1000, 1021}, by_library));
  expect_same("inverse transforms by the matrix and by the library",
              all(any_lengths, [](const Signal& x) { return inverse(by_matrix, x); }),
              all(any_lengths, [](const Signal& x) {
                return weft::ifft(tensor(x)).to_vector<Complex>();
              }));
  const std::vector<double> x = real_numbers(1, 256);
  expect_same("real signals, by the half transform and by the library's rfft",
              real_fft(x, roots_of_unity<Complex>(256)),
              weft::rfft(weft::Tensor::from(x, {256})).to_vector<Complex>());
}

// ## Counted, timed, and compared with the exact result
// First, the counts. On logarithmic axes, $n^2$ is a straight line of slope 2, and $n \log n$ is nearly one of slope 1.
// At $n = 4096$, the matrix needs 683 times as many multiplications as the recursion.
STEP("Multiplications") {
  print("plot: Complex multiplications of a transform | n log | multiplications log");
  print("n, matrix, power of two, Bluestein, real input");
  for (std::size_t n = 4; n <= 4096; n *= 2) {
    const auto w = roots_of_unity<Counted>(n);
    const Count in_place = count([&] { return fft_of(std::vector<Counted>(n), w); });
    print("%zu, %zu, %zu, %zu, %zu", n, count_of_matrix(n).multiplications,
          in_place.multiplications, count_of_bluestein(n).multiplications,
          count_of_real(n).multiplications);
  }
}

// Counts are not times. The recursion allocates vectors for each part, while the passes in place copy the input only
// once. The library computes several numbers with each instruction. For all algorithms, the tables are made before the
// clock starts.
STEP("Times for powers of two") {
  print("plot: Time of a transform, n a power of two | n log | microseconds log");
  print("n, matrix, recursion, in place, Bluestein, library");
  for (std::size_t n = 16; n <= 4096; n *= 2) {
    const Signal x = random_signal(n, n), w = roots_of_unity<Complex>(n);
    const Bluestein<Complex> bluestein(n);
    const weft::Tensor input = tensor(x);
    print("%zu, %.2f, %.2f, %.2f, %.2f, %.2f", n,
          microseconds([&] { (void)dft(x, w); }),
          microseconds([&] { (void)fft_recursive(x, w); }),
          microseconds([&] { (void)fft_of(x, w); }),
          microseconds([&] { (void)bluestein(x); }),
          microseconds([&] { (void)weft::fft(input); }));
  }
}

// For primes, only the matrix and Bluestein's method remain. For a single signal of prime length, the library is only
// about as fast as our program. It fills its vectors with one number from each of several signals, and a single signal
// leaves most of a vector empty. Networks have many signals to transform, one for each channel. The last column
// transforms 8 signals at once, and divides the time by 8.
STEP("Times for primes") {
  print("plot: Time of a transform, n prime | n log | microseconds log");
  print("n, matrix, Bluestein, library, library (one of 8)");
  for (const std::size_t n : {17, 31, 61, 127, 251, 509, 1021, 2039, 4093}) {
    const Signal x = random_signal(n, n), w = roots_of_unity<Complex>(n);
    const Bluestein<Complex> bluestein(n);
    const weft::Tensor one = tensor(x);
    const weft::Tensor eight =
        weft::concat(std::vector<weft::Tensor>(8, weft::reshape(one, {1, -1})), 0);
    print("%zu, %.2f, %.2f, %.2f, %.2f", n, microseconds([&] { (void)dft(x, w); }),
          microseconds([&] { (void)bluestein(x); }),
          microseconds([&] { (void)weft::fft(one); }),
          microseconds([&] { (void)weft::fft(eight); }) / 8);
  }
}

// Last, the accuracy. The reference is the matrix once more, with `long double` numbers. The error of a result $y$ with
// the reference $y^*$ is $\|y - y^*\| / \|y^*\|$. The matrix adds $n$ terms one after the other, and each addition
// rounds. Here its error grows about like $\sqrt{n}$. In a fast transform, each result is made by only $\log_2 n$
// additions in a row. So it is not only faster, but also more accurate, and its error hardly grows with $n$.
// The recursion and the passes in place compute the same sums and products in a different order. So their curves
// coincide.
STEP("Accuracy") {
  bool as_good = true;
  print("plot: Relative error of a transform | n log | error log");
  print("n, matrix, recursion, in place, Bluestein, library");
  for (std::size_t n = 16; n <= 1024; n *= 2) {
    const Signal x = random_signal(n, n), w = roots_of_unity<Complex>(n);
    const auto exact =
        dft(std::vector<Exact>(x.begin(), x.end()), roots_of_unity<Exact>(n));
    const double matrix = error_of(dft(x, w), exact),
                 in_place = error_of(fft_of(x, w), exact);
    const double library = error_of(by_library(x), exact);
    print("%zu, %.2e, %.2e, %.2e, %.2e, %.2e", n, matrix,
          error_of(fft_recursive(x, w), exact), in_place,
          error_of(by_bluestein(x), exact), library);
    as_good = as_good && in_place < 1e-15 && library < 1e-15 &&
              (n < 256 || in_place < matrix);
  }
  print("%s", "");
  expect(
      "the errors in place and of the library are below 1e-15, and from n = 256 below "
      "that of the matrix",
      as_good);
}

// ## Exercises
// 1. Compute the table of roots by repeated multiplication, $\omega^{k+1} = \omega^k \omega$, in `double`. Which curves
//    of the accuracy plot rise, and how fast?
// 2. Split into three parts instead of two: write `fft_recursive` for powers of three. How many multiplications does it
//    need? Then choose the smallest prime factor of $n$ at each level, so that it takes any length.
// 3. Multiplying by $\omega^0 = 1$ or $\omega^{n/4} = -i$ needs no multiplication. Skip both in `fft_in_place`. How
//    many multiplications remain for $n = 1024$?
// 4. Multiply two polynomials with 1000 coefficients each by transforms. Which length prevents the product from
//    wrapping around? Compare the time with that of two loops.
// 5. The chirp is symmetric, so the offsets $n - 1$ and $-(n - 1)$ may share a place. Show that $m = 2n - 2$ is enough
//    for Bluestein's convolution. For which $n$ does this halve $m$? One check of the step must then change, too.
// 6. Split into the first half and the second half of $x$ instead of even and odd elements. Derive the butterflies. Now
//    the input is in order, and the *output* has reversed bits. Why do convolutions then need no reversal at all?

}  // namespace
