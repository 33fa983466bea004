// Tests of find_rate, which measures losses at increasing learning rates.
#include "weft/find_rate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "contains.h"
#include "train_support.h"

namespace weft::test {

TEST_CASE("find_rate: the rate grows by a constant factor, and the loss falls before it rises") {
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  TrainOptions options;
  options.schedule.warmup = 50;  // has no effect
  std::int64_t steps = 0;
  const FoundRate found =
      find_rate(*small.model, *small.data, options, {1e-5, 10, 120}, [&](std::int64_t step, double rate, double loss) {
        CHECK(step == ++steps);
        CHECK(rate == doctest::Approx(1e-5 * std::pow(1e6, static_cast<double>(step - 1) / 119)));
        return std::isfinite(loss);
      });
  REQUIRE(found.rates.size() == found.losses.size());
  CHECK(found.rates.size() == static_cast<std::size_t>(steps));
  CHECK(found.rates.front() == doctest::Approx(1e-5));
  const auto best = std::min_element(found.losses.begin(), found.losses.end());
  CHECK(*best < 0.9 * found.losses.front());
  CHECK(found.losses.back() > 1.5 * *best);
  const double enough = found.losses.front() - 0.8 * (found.losses.front() - *best);
  const auto chosen = std::find(found.rates.begin(), found.rates.end(), found.rate) - found.rates.begin();
  REQUIRE(chosen < std::ssize(found.rates));
  for (std::ptrdiff_t i = 0; i <= chosen; ++i)
    CHECK((found.losses[static_cast<std::size_t>(i)] <= enough) == (i == chosen));
  // It trains about as well as a rate that is known to be good.
  CHECK(found.rate > 1e-4);
  CHECK(found.rate < 0.1);
}

TEST_CASE("find_rate: the average, and a stop by the caller") {
  const SmallTask small = small_task("fnet", Task::classifier), same = small_task("fnet", Task::classifier);
  TrainOptions options;
  const FoundRate found = find_rate(*small.model, *small.data, options, {1e-3, 1e-2, 10},
                                    [](std::int64_t step, double, double) { return step < 3; });
  REQUIRE(found.losses.size() == 3);
  options.schedule.steps = 10;
  options.schedule.own = {"the same",
                          [](std::int64_t step) { return 1e-3 * std::pow(10, static_cast<double>(step - 1) / 9); }};
  Trainer trainer(*same.model, *same.data, options);
  const double a = trainer.step(), b = trainer.step();
  CHECK(found.losses[0] == doctest::Approx(a));
  CHECK(found.losses[1] == doctest::Approx((0.9 * a + b) / 1.9));
}

TEST_CASE("find_rate: errors") {
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  for (const RateRange& range : {RateRange{0, 1, 20}, RateRange{1, 1, 20}, RateRange{1e-3, INFINITY, 20},
                                 RateRange{1e-3, 1, 9}, RateRange{std::nan(""), 1, 20}})
    CHECK_THROWS_WITH_AS((void)find_rate(*small.model, *small.data, {}, range),
                         doctest::Contains("expected 0 < lowest < highest and at least 10 steps"), Error);
  // An error in a later step must not be mistaken for a rate that is too high.
  CHECK_THROWS_WITH_AS((void)find_rate(*small.model, *small.data, {}, {1e-4, 1e-2, 30},
                                       [](std::int64_t step, double, double) {
                                         if (step == 20) throw Error("the disk is full");
                                         return true;
                                       }),
                       "the disk is full", Error);
  // A loss that is not finite in the first steps is an Error. In later steps it ends the search.
  CHECK_THROWS_AS((void)find_rate(*small.model, *small.data, {}, {1e30, 1e35, 20}), Error);
}

}  // namespace weft::test
