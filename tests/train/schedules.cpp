// Tests of schedules that decrease linearly and with the inverse square root of the step.
#include <doctest/doctest.h>

#include "weft/schedule.h"

namespace weft::test {

TEST_CASE("linear and inverse-sqrt schedules, rate by rate") {
  Schedule s;
  s.kind = ScheduleKind::linear;
  s.peak = 2;
  s.warmup = 10;
  s.steps = 110;
  s.floor = 0.25;
  CHECK(s(5) == doctest::Approx(1));
  CHECK(s(10) == doctest::Approx(2));
  CHECK(s(60) == doctest::Approx(2 * (0.25 + 0.75 * 0.5)));
  CHECK(s(110) == doctest::Approx(0.5));
  CHECK(s(500) == doctest::Approx(0.5));
  s.warmup = 0;
  CHECK(s(11) == doctest::Approx(2 * (0.25 + 0.75 * 0.9)));
  s.kind = ScheduleKind::inverse_sqrt;
  s.warmup = 16;
  CHECK(s(4) == doctest::Approx(0.5));
  CHECK(s(16) == doctest::Approx(2));
  CHECK(s(64) == doctest::Approx(1));
  CHECK(s(1600) == doctest::Approx(0.2));
  s.warmup = 0;
  CHECK(s(1) == doctest::Approx(2));
  CHECK(s(4) == doctest::Approx(1));
}

}  // namespace weft::test
