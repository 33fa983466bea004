#include "weft/schedule.h"

#include <algorithm>
#include <cmath>

#include "weft/detail/enum_names.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<ScheduleKind> {
  static constexpr const char* what = "schedule";
  static constexpr EnumName<ScheduleKind> all[] = {{ScheduleKind::constant, "constant"},
                                                   {ScheduleKind::cosine, "cosine"},
                                                   {ScheduleKind::noam, "noam"},
                                                   {ScheduleKind::linear, "linear"},
                                                   {ScheduleKind::inverse_sqrt, "inverse-sqrt"}};
};

}  // namespace detail

namespace {

constexpr double pi = 3.14159265358979323846;

}  // namespace

const char* schedule_name(ScheduleKind kind) noexcept { return enum_name(kind); }

ScheduleKind schedule_from_name(const std::string& name) { return enum_from_name<ScheduleKind>(name); }

std::vector<std::string> schedules() { return enum_names<ScheduleKind>(); }

std::string Schedule::name() const { return own.rate ? own.name : schedule_name(kind); }

double Schedule::operator()(std::int64_t step) const {
  if (own.rate) return own.rate(step);
  const auto s = static_cast<double>(step), w = static_cast<double>(warmup);
  if (kind == ScheduleKind::noam) {
    const double rise = warmup > 0 ? s * std::pow(w, -1.5) : 1 / std::sqrt(s);
    return peak / std::sqrt(static_cast<double>(d_model)) * std::min(1 / std::sqrt(s), rise);
  }
  if (step < warmup) return peak * s / w;
  if (kind == ScheduleKind::inverse_sqrt) return peak * std::sqrt(std::max(w, 1.0) / s);
  if (kind == ScheduleKind::constant || steps <= warmup) return peak;
  const double t = std::min(1.0, (s - w) / static_cast<double>(steps - warmup));
  const double fallen = kind == ScheduleKind::linear ? 1 - t : 0.5 * (1 + std::cos(pi * t));
  return peak * (floor + (1 - floor) * fallen);
}

}  // namespace weft
