#include "weft/precision.h"

#include "weft/detail/enum_names.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<Precision> {
  static constexpr const char* what = "precision";
  static constexpr EnumName<Precision> all[] = {{Precision::f32, "f32"}, {Precision::bf16, "bf16"}};
};

}  // namespace detail

const char* precision_name(Precision precision) noexcept { return enum_name(precision); }

Precision precision_from_name(const std::string& name) { return enum_from_name<Precision>(name); }

std::vector<std::string> precisions() { return enum_names<Precision>(); }

Tensor in_precision(const Tensor& x, Precision precision) {
  return precision == Precision::bf16 ? cast(x, DType::bf16) : x;
}

}  // namespace weft
