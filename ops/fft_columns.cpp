#include "fft_columns.h"

#include <algorithm>

#include "common.h"
#include "fft_plan.h"
#include "kernels/kernels.h"
#include "weft/context.h"

namespace weft {
namespace {

using std::int64_t;

constexpr int64_t task_elements = 1 << 14;

// Real and imaginary parts; without the second, real numbers.
template <class T>
struct Planes {
  T *re, *im;
};

template <class T>
Planes<const T> planes(const Tensor& x) {
  const T* p = static_cast<const T*>(x.raw());
  return {p, is_complex(x.dtype()) ? p + 1 : nullptr};
}

template <class T>
void clear(int64_t lanes, int64_t first, int64_t end, T* plane) {
  for (int64_t k = first; k < end; ++k) std::fill_n(plane + k * 2 * lanes, lanes, T(0));
}

template <class T>
struct Driver {
  const Transform& t;
  const FftKernels<T>& kernel;
  const FftPlan<T>& plan;
  Columns in, out;
  Planes<const T> x;
  Planes<T> y;

  int64_t half() const { return t.n / 2 + 1; }

  void load(int64_t first, int64_t count, T* work) const {
    int64_t offset[most_lanes];
    in.offsets(first, count, offset);
    T *re = work + (t.inverse ? kernel.lanes : 0), *im = work + (t.inverse ? 0 : kernel.lanes);
    const int64_t given = t.half_in != 0 ? half() : t.n;
    kernel.gather(given, {x.re, in.step(), offset, count}, re);
    if (x.im) kernel.gather(given, {x.im, in.step(), offset, count}, im);
    else clear(kernel.lanes, 0, given, im);
    if (t.half_in == 0) return;
    kernel.half_spectrum(t.n, static_cast<T>(t.half_in), re, im);
    clear(kernel.lanes, given, t.n, re);
    clear(kernel.lanes, given, t.n, im);
  }

  void store(int64_t first, int64_t count, T* work) const {
    int64_t offset[most_lanes];
    out.offsets(first, count, offset);
    T *re = work + (t.inverse ? kernel.lanes : 0), *im = work + (t.inverse ? 0 : kernel.lanes);
    if (t.half_out != 0) kernel.half_spectrum(t.n, static_cast<T>(t.half_out), re, im);
    const int64_t wanted = t.half_out != 0 ? half() : t.n;
    const T factor = static_cast<T>(t.factor);
    kernel.scatter(wanted, re, factor, {y.re, out.step(), offset, count});
    if (y.im) kernel.scatter(wanted, im, factor, {y.im, out.step(), offset, count});
  }

  void run() const {
    const int64_t lanes = kernel.lanes, tiles = (in.count() - 1) / lanes + 1, buffer = plan.rows() * 2 * lanes;
    const int64_t grain = std::max<int64_t>(1, task_elements / (t.n * lanes));
    const auto bytes = static_cast<std::size_t>(2 * buffer) * sizeof(T);
    Context::current().parallel_for(tiles, grain, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      T* work = static_cast<T*>(scratch);
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t first = tile * lanes, count = std::min(lanes, in.count() - first);
        load(first, count, work);
        store(first, count, kernel.transform(plan.view(), work, work + buffer));
      }
    });
  }
};

}  // namespace

Columns::Columns(const Tensor& x, std::size_t axis) : count_(1) {
  const int64_t parts = is_complex(x.dtype()) ? 2 : 1;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (i == axis) continue;
    shape_.push_back(x.shape()[i]);
    strides_.push_back(x.strides()[i] * parts);
    count_ *= x.shape()[i];
  }
  step_ = x.strides()[axis] * parts;
}

void Columns::offsets(int64_t first, int64_t count, int64_t* out) const noexcept {
  for (int64_t c = 0; c < count; ++c) {
    int64_t rest = first + c, offset = 0;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      offset += rest % shape_[i] * strides_[i];
      rest /= shape_[i];
    }
    out[c] = offset;
  }
}

Tensor transform(const char* op, const Tensor& x, const Transform& t) {
  Shape shape = x.shape();
  shape[t.axis] = t.half_out != 0 ? t.n / 2 + 1 : t.n;
  Tensor y = Tensor::empty(shape, t.real_out ? real_of(x.dtype()) : complex_of(x.dtype()));
  if (y.numel() == 0) return y;
  with_real(op, real_of(x.dtype()), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const auto plan = fft_plan<T>(op, t.n);
    T* to = static_cast<T*>(y.mutable_raw());
    Driver<T>{t, kernels().fft.of<T>(), *plan, Columns(x, t.axis), Columns(y, t.axis), planes<T>(x),
              {to, t.real_out ? nullptr : to + 1}}.run();
  });
  return y;
}

}  // namespace weft
