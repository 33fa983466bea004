#include "weft/print.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "weft/detail/float_chars.h"
#include "weft/detail/out_of_memory.h"

namespace weft {

namespace {

constexpr std::int64_t most_elements = 1000;  // the largest tensor that is printed in full
constexpr std::int64_t edge = 3;              // elements printed at each end of an abbreviated axis

// Formats x like %g, independent of the locale.
std::string text_of(double x, int precision) {
  char buffer[64];
  return std::string(buffer, detail::text_from(x, precision, buffer, buffer + sizeof buffer));
}

template <class R>
std::string text_of(std::complex<R> z, int precision) {
  const double imag = static_cast<double>(z.imag());
  const std::string sign = std::signbit(imag) ? "" : "+";
  return text_of(static_cast<double>(z.real()), precision) + sign + text_of(imag, precision) + "i";
}

// Returns the text of the element at an offset from the first one.
std::string element(const Tensor& x, std::int64_t offset, int precision) {
  switch (x.dtype()) {
    case DType::f32: return text_of(static_cast<double>(x.data<float>()[offset]), precision);
    case DType::f64: return text_of(x.data<double>()[offset], precision);
    case DType::c64: return text_of(x.data<std::complex<float>>()[offset], precision);
    case DType::c128: return text_of(x.data<std::complex<double>>()[offset], precision);
    case DType::bf16: return text_of(static_cast<double>(static_cast<float>(x.data<bfloat16>()[offset])), precision);
    case DType::i8: return std::to_string(x.data<std::int8_t>()[offset]);
    default: return std::to_string(x.data<std::int64_t>()[offset]);
  }
}

class Printer {
 public:
  Printer(const Tensor& x, int precision) : x_(x), precision_(precision), abbreviated_(x.numel() > most_elements) {
    visit(0, 0, [this](const std::string& text) { width_ = std::max(width_, text.size()); });
  }

  void write(std::ostream& out, std::size_t axis = 0, std::int64_t offset = 0) const {
    if (axis == x_.shape().size()) {
      const std::string text = element(x_, offset, precision_);
      out << std::string(width_ - text.size(), ' ') << text;
      return;
    }
    const bool rows = axis + 1 < x_.shape().size();
    // Puts an empty line between matrices, like numpy.
    const std::string gap =
        rows ? "," + std::string(x_.shape().size() - 1 - axis, '\n') + std::string(axis + 1, ' ') : ", ";
    out << '[';
    bool first = true, skipped = false;
    for_shown(axis, [&](std::int64_t i) {
      if (i < 0) {
        skipped = true;
        return;
      }
      if (!first) out << gap;
      if (skipped) out << "..." << gap;
      first = skipped = false;
      write(out, axis + 1, offset + i * x_.strides()[axis]);
    });
    out << ']';
  }

 private:
  // Calls f(i) for each index along an axis that is printed, and f(-1) once for the indices that are left out.
  template <class F>
  void for_shown(std::size_t axis, F f) const {
    const std::int64_t n = x_.shape()[axis];
    const bool cut = abbreviated_ && n > 2 * edge;
    for (std::int64_t i = 0; i < n; ++i) {
      if (cut && i == edge) {
        f(-1);
        i = n - edge;
      }
      f(i);
    }
  }

  template <class F>
  void visit(std::size_t axis, std::int64_t offset, F f) const {
    if (axis == x_.shape().size()) return f(element(x_, offset, precision_));
    for_shown(axis, [&](std::int64_t i) {
      if (i >= 0) visit(axis + 1, offset + i * x_.strides()[axis], f);
    });
  }

  const Tensor& x_;
  int precision_;
  bool abbreviated_;
  std::size_t width_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  return detail::guard_memory("print", [&]() -> std::ostream& {
    if (!x.defined()) return out << "undefined";
    const int precision = static_cast<int>(std::clamp<std::streamsize>(out.precision(), 1, 17));
    Printer(x, precision).write(out);
    return out << ' ' << dtype_name(x.dtype()) << ' ' << to_string(x.shape());
  });
}

}  // namespace weft
