// Signals, and numbers that count operations, for the page about Fourier transforms.
#pragma once
#include <weft/ops.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

using Complex = std::complex<double>;
using Exact = std::complex<long double>;  // for roots of unity, and to measure accuracy
using Signal = std::vector<Complex>;

inline Signal random_signal(std::uint64_t seed, std::size_t n) {
  const weft::Tensor parts = weft::Random(seed).normal(
      {2, static_cast<std::int64_t>(n)}, 0, 1, weft::DType::f64);
  const std::vector<double> p = parts.to_vector<double>();
  Signal x;
  for (std::size_t j = 0; j < n; ++j) x.emplace_back(p[j], p[n + j]);
  return x;
}

inline std::vector<double> real_numbers(std::uint64_t seed, std::size_t n) {
  return weft::Random(seed)
      .normal({static_cast<std::int64_t>(n)}, 0, 1, weft::DType::f64)
      .to_vector<double>();
}

// The results of a function for a random signal of each length, in one list.
template <class F>
Signal all(const std::vector<std::size_t>& lengths, const F& f) {
  Signal results;
  for (std::size_t n : lengths) {
    const Signal y = f(random_signal(n, n));
    results.insert(results.end(), y.begin(), y.end());
  }
  return results;
}

inline const std::vector<std::size_t> powers_of_two{1, 2, 4, 8, 16, 32, 64, 128, 256};
inline const std::vector<std::size_t> any_lengths{1,  2,  3,  4,  5,  6,   7,   8,  9,
                                                  12, 17, 30, 64, 97, 100, 101, 255};

// The smallest number of bits b for which 2^b is at least n.
inline std::size_t log2_of(std::size_t n) {
  std::size_t bits = 0;
  while (std::size_t{1} << bits < n) ++bits;
  return bits;
}

// Σ |x_j|²
inline double energy(const Signal& x) {
  double sum = 0;
  for (const Complex& z : x) sum += std::norm(z);
  return sum;
}

// |y - exact| / |exact|
inline double error_of(const Signal& y, const std::vector<Exact>& exact) {
  long double difference = 0, norm = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    difference += std::norm(Exact(y[k]) - exact[k]);
    norm += std::norm(exact[k]);
  }
  return static_cast<double>(std::sqrt(difference / norm));
}

inline weft::Tensor tensor(const Signal& x) {
  return weft::Tensor::from(x, {static_cast<std::int64_t>(x.size())});
}

// The real parts, in the shape (n, 1).
inline weft::Tensor real_part(const Signal& x) {
  std::vector<double> parts;
  for (const Complex& z : x) parts.push_back(z.real());
  return weft::Tensor::from(parts, {static_cast<std::int64_t>(x.size()), 1});
}

inline Signal only_real(Signal x) {
  for (Complex& z : x) z = z.real();
  return x;
}

// A complex number that counts its multiplications and additions.
struct Counted {
  Complex value;
  Counted() = default;
  explicit Counted(Complex v) : value(v) {}
  explicit Counted(Exact v) : value(v) {}
  static inline std::size_t multiplications = 0, additions = 0;
};

inline Counted operator+(const Counted& a, const Counted& b) {
  ++Counted::additions;
  return Counted(a.value + b.value);
}
inline Counted operator-(const Counted& a, const Counted& b) {
  ++Counted::additions;
  return Counted(a.value - b.value);
}
inline Counted operator*(const Counted& a, const Counted& b) {
  ++Counted::multiplications;
  return Counted(a.value * b.value);
}
inline Counted conj(const Counted& a) { return Counted(std::conj(a.value)); }

struct Count {
  std::size_t multiplications, additions;
};

// The operations of a function on Counted numbers.
template <class F>
Count count(const F& f) {
  Counted::multiplications = Counted::additions = 0;
  (void)f();
  return {Counted::multiplications, Counted::additions};
}
