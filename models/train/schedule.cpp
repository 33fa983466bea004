#include "weft/schedule.h"

#include <algorithm>
#include <cmath>

#include "weft/error.h"

namespace weft {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr ScheduleKind kinds[] = {ScheduleKind::constant, ScheduleKind::cosine, ScheduleKind::noam};

}  // namespace

const char* schedule_name(ScheduleKind kind) noexcept {
  switch (kind) {
    case ScheduleKind::constant: return "constant";
    case ScheduleKind::cosine: return "cosine";
    case ScheduleKind::noam: return "noam";
  }
  return "unknown";
}

ScheduleKind schedule_from_name(const std::string& name) {
  for (ScheduleKind kind : kinds)
    if (name == schedule_name(kind)) return kind;
  throw Error("[schedule] unknown schedule \"" + name + "\", expected constant, cosine or noam");
}

double Schedule::operator()(std::int64_t step) const {
  const auto s = static_cast<double>(step), w = static_cast<double>(warmup);
  if (kind == ScheduleKind::noam) {
    const double rise = warmup > 0 ? s * std::pow(w, -1.5) : 1 / std::sqrt(s);
    return peak / std::sqrt(static_cast<double>(d_model)) * std::min(1 / std::sqrt(s), rise);
  }
  if (step < warmup) return peak * s / w;
  if (kind == ScheduleKind::constant || steps <= warmup) return peak;
  const double t = std::min(1.0, (s - w) / static_cast<double>(steps - warmup));
  return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(pi * t)));
}

}  // namespace weft
