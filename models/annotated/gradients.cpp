// # Gradients
// Placeholder.
#include <weft/ops.h>

#include "step.h"

STEP("One gradient") {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(weft::Random(1).normal({4, 8}, 0, 1, weft::DType::f64));
  weft::Gradients gradients;
  tape.backward(weft::sum(weft::square(x)), gradients);
  expect_same("the gradient of the sum of squares and 2 x", gradients.of(x), weft::scale(x, 2));
  print("time: %.1f us", microseconds([&] { (void)weft::square(x.detach()); }));
}
