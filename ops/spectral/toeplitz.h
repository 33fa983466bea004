// The forms of a Toeplitz product y_i = Σ_j t_(i-j) x_j, for the operations in toeplitz.cpp. x is (b, h, n, d), and t
// is (h, lags, d), so each of the h · d channels has its own coefficients. Tensors may have any strides. Nothing is
// recorded.
#pragma once
#include <cstdint>

#include "spectral/fft_driver.h"
#include "weft/spectral.h"

namespace weft::detail {

struct ToeplitzSizes {
  const char* op;  // for error messages
  std::int64_t b, n;
  std::int64_t before;  // element k of t has lag k - before
  bool causal;          // there are no lags below 0
};

// Returns the number of channels of x (b, h, n, d).
inline std::int64_t channels_of(const Tensor& x) { return x.shape()[1] * x.shape()[3]; }

// The spectra of t's channels, in the layout for the kernels of the current instruction set: (tiles, m, 2, lanes), m >=
// n.
Tensor toeplitz_spectra(const Tensor& t, const ToeplitzSizes& s);
bool toeplitz_spectra_fit(const Tensor& spectra, const Tensor& t, const ToeplitzSizes& s);
Tensor toeplitz_ring(const Tensor& x, const Tensor& spectra, const ToeplitzSizes& s);
ToeplitzGradients toeplitz_ring_backward(const Tensor& x, const Tensor& dy, const Tensor& spectra, const Shape& t_shape,
                                         const ToeplitzSizes& s, bool needs_x, bool needs_t);

Tensor toeplitz_naive(const Tensor& x, const Tensor& t, const ToeplitzSizes& s);
ToeplitzGradients toeplitz_naive_backward(const Tensor& x, const Tensor& dy, const Tensor& t, const Shape& t_shape,
                                          const ToeplitzSizes& s, bool needs_x, bool needs_t);

// Multiplies with the matrices T_ij = t_(i-j), or with their transposes, which map dy to dx.
Tensor toeplitz_matrix(const Tensor& x, const Tensor& t, const ToeplitzSizes& s, bool transposed);

// A tensor in the format that the kernels take: its columns are the channels (h, d) of t, or of each batch row of x.
template <class T>
class ToeplitzOperand {
 public:
  ToeplitzOperand(T* data, const Tensor& x)
      : data_(data), batch_(x.rank() == 4 ? x.strides()[0] : 0), channels_(one_row(x), 1) {}

  // `count` channels, starting at `first`. In the columns of up_from(row), element k is element row + k of the tensor's
  // columns. In the columns of down_from(row), it is element row - k.
  class Tile {
   public:
    FftColumns<T> up_from(std::int64_t row) const { return {data + row * step, step, offset, count}; }
    FftColumns<T> down_from(std::int64_t row) const { return {data + row * step, -step, offset, count}; }

    T* data;
    std::int64_t step, count, offset[max_lanes];
  };
  Tile tile(std::int64_t batch, std::int64_t first, std::int64_t count) const {
    Tile tile{data_ + batch * batch_, channels_.step(), count, {}};
    channels_.offsets(first, count, tile.offset);
    return tile;
  }

 private:
  static Tensor one_row(const Tensor& x) {
    const auto lead = x.rank() - 3;
    return x.view(Shape(x.shape().begin() + lead, x.shape().end()),
                  Strides(x.strides().begin() + lead, x.strides().end()), x.offset());
  }

  T* data_;
  std::int64_t batch_;
  Columns channels_;
};

template <class T>
ToeplitzOperand<const T> toeplitz_input(const Tensor& x) {
  return {x.data<T>(), x};
}
template <class T>
ToeplitzOperand<T> toeplitz_output(Tensor& y) {
  return {y.mutable_data<T>(), y};
}

}  // namespace weft::detail
