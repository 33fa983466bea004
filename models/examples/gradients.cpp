// Uses a few operations directly: runs them, records them on a tape and computes gradients.
#include <weft/ops.h>

#include <cmath>

#include "check.h"

int main() {
  weft::Tape tape;  // without a tape nothing is recorded
  const weft::Tensor x = tape.watch(weft::Random(1).normal({4, 8}, 0, 1));
  const weft::Tensor loss = weft::mean(weft::square(weft::fourier_mix(x, 0, 1)));
  weft::Gradients gradients;
  tape.backward(loss, gradients);  // gradients.of(x) is d loss / d x

  // The loss is quadratic in x, therefore Σ x ⊙ d loss / d x = 2 loss.
  const double slope = weft::sum(x * gradients.of(x)).item();
  check(std::abs(slope - 2 * loss.item()) < 1e-5 * loss.item(), "the gradient is right");
}
