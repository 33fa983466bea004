// Benchmarks of memory-bound work: norms, losses, the optimizer and elementwise chains. They are compared with a copy
// of the same number of bytes.
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "operations/family.h"
#include "weft/context.h"
#include "weft/ops.h"
#include "weft/update_rules.h"

namespace weft::bench {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;
using Make = std::function<std::vector<Tensor>()>;

// An operation and its inputs. `forward` and `backward` are the bytes that the two passes read and write if they access
// each array only once.
struct Case {
  std::string kind, label;
  Make inputs;
  Function f;
  std::vector<bool> watched;
  double forward, backward;
};

Work memory_work(int threads, double bytes, const std::function<void()>& run) {
  Work w;
  w.run = [=] {
    Context::current().set_threads(threads);
    run();
  };
  w.bytes = bytes;
  w.memory_bound = true;
  return w;
}

// The tape and the result for one backward pass. The backward pass consumes the tape.
struct Recorded {
  std::optional<Tape> tape;
  Tensor y;
};

Work forward_of(const Case& c, int threads) {
  return memory_work(threads, c.forward, [f = c.f, in = c.inputs()] { f(in); });
}

Work backward_of(const Case& c, int threads) {
  const std::vector<Tensor> in = c.inputs();
  const Tensor cotangent = normal(c.f(in).shape(), 9);
  const auto recorded = std::make_shared<Recorded>();
  Work w = memory_work(threads, c.backward, [=] {
    Gradients gradients;
    recorded->tape->backward(recorded->y, cotangent, gradients);
    recorded->tape.reset();
  });
  w.before = [=, f = c.f, watched = c.watched] {
    std::vector<Tensor> leaves = in;
    recorded->tape.emplace();
    for (std::size_t i = 0; i < in.size(); ++i)
      if (watched[i]) leaves[i] = recorded->tape->watch(in[i]);
    recorded->y = f(leaves);
  };
  return w;
}

void add_case(const std::string& kind, const std::string& label, int threads, const Make& inputs, const Function& f,
              const std::vector<bool>& watched, double forward, double backward) {
  const Case c{kind, label, inputs, f, watched, forward, backward};
  for (const int t : std::set<int>{1, threads}) {
    add_work(c.kind, c.label, t, [=] { return forward_of(c, t); });
    if (c.backward > 0) add_work(c.kind + "-backward", c.label, t, [=] { return backward_of(c, t); });
  }
}

// Forward reads x and writes y. Backward reads x and dy, and writes dx. It also computes the gradients of gamma and
// beta.
void add_norms(std::int64_t rows, std::int64_t d, int threads) {
  const double array = 4.0 * static_cast<double>(rows * d);
  const std::string label = std::to_string(rows) + "x" + std::to_string(d);
  const Make with_both = [=] { return std::vector<Tensor>{normal({rows, d}, 0), normal({d}, 1), normal({d}, 2)}; };
  const Make with_weight = [=] { return std::vector<Tensor>{normal({rows, d}, 0), normal({d}, 1)}; };
  add_case(
      "layer-norm", label, threads, with_both, [](auto& in) { return layer_norm(in[0], 1, in[1], in[2]); },
      {true, true, true}, 2 * array, 3 * array);
  add_case(
      "rms-norm", label, threads, with_weight, [](auto& in) { return rms_norm(in[0], in[1]); }, {true, true}, 2 * array,
      3 * array);
}

// Activations of whole arrays, softmax, and the cross-entropy loss. Softmax's backward reads y and dy. The forward pass
// of the loss writes almost nothing.
void add_rows(std::int64_t rows, std::int64_t d, int threads) {
  const double array = 4.0 * static_cast<double>(rows * d);
  const std::string label = std::to_string(rows) + "x" + std::to_string(d);
  const Make one = [=] { return std::vector<Tensor>{normal({rows, d}, 0)}; };
  for (const Activation a : {Activation::gelu, Activation::silu})
    add_case(
        std::string("array-") + activation_name(a), label, threads, one, [a](auto& in) { return activation(in[0], a); },
        {true}, 2 * array, 3 * array);
  add_case(
      "softmax", label, threads, one, [](auto& in) { return softmax(in[0], -1); }, {true}, 2 * array, 3 * array);
  const Make with_target = [=] {
    std::vector<std::int64_t> target;
    for (std::int64_t r = 0; r < rows; ++r) target.push_back(r % d);
    return std::vector<Tensor>{normal({rows, d}, 0), Tensor::from(target, {rows})};
  };
  add_case(
      "cross-entropy", label, threads, with_target, [](auto& in) { return cross_entropy(in[0], in[1]); }, {true, false},
      array, 2 * array);
}

// Elementwise sums and products, gMLP's gate z1 ⊙ (p + b), where z1 is one half of each row of z, GLU's silu(a) ⊙ b,
// and the norm of a sum.
void add_chains(std::int64_t n, std::int64_t b, std::int64_t d, int threads) {
  const double array = 4.0 * static_cast<double>(n * b * d);
  const std::string label = std::to_string(n) + "x" + std::to_string(b) + "x" + std::to_string(d);
  const Make dense_bias = [=] { return std::vector<Tensor>{normal({n, b, d}, 0), normal({n, 1, 1}, 1)}; };
  const Make two = [=] { return std::vector<Tensor>{normal({n, b, d}, 0), normal({n, b, d}, 1)}; };
  const Make gate = [=] {
    return std::vector<Tensor>{normal({n, b, 2 * d}, 0), normal({n, b, d}, 1), normal({n, 1, 1}, 2)};
  };
  add_case(
      "add", label, threads, two, [](auto& in) { return add(in[0], in[1]); }, {true, true}, 3 * array, 0);
  add_case(
      "add-bias", label, threads, dense_bias, [](auto& in) { return add(in[0], in[1]); }, {false, true}, 2 * array,
      array);
  add_case(
      "mul", label, threads, two, [](auto& in) { return mul(in[0], in[1]); }, {true, true}, 3 * array, 5 * array);
  add_case(
      "mul-chunk", label, threads, gate, [](auto& in) { return mul(chunk(in[0], 2, -1)[0], in[1]); },
      {false, true, false}, 3 * array, 3 * array);
  add_case(
      "gate", label, threads, gate, [](auto& in) { return mul(chunk(in[0], 2, -1)[0], add(in[1], in[2])); },
      {true, true, true}, 5 * array, 6 * array);
  add_case(
      "glu", label, threads, two, [](auto& in) { return mul(activation(in[0], Activation::silu), in[1]); },
      {true, true}, 5 * array, 5 * array);
  add_case(
      "residual-norm", label, threads, two, [](auto& in) { return layer_norm(add(in[0], in[1]), 1, {}, {}); },
      {true, true}, 5 * array, 3 * array);
}

// AdamW reads p, g, m and v, and writes p, m and v. The norm for clipping reads g once more.
void add_adamw(std::int64_t n, int threads) {
  const auto make = [=](int t, bool clip) {
    Tensor p = normal({n}, 0), m = Tensor::zeros({n}), v = Tensor::zeros({n});
    const Tensor g = normal({n}, 1);
    return memory_work(t, (clip ? 32.0 : 28.0) * static_cast<double>(n), [=]() mutable {
      const double scale = clip ? 1 / (1 + l2_norm(g)) : 1;
      adamw(p, g, m, v, 10, {}, scale);
    });
  };
  for (const int t : std::set<int>{1, threads})
    for (const bool clip : {false, true})
      add_work(clip ? "adamw-clip" : "adamw", std::to_string(n), t, [=] { return make(t, clip); });
}

}  // namespace

void add_memory_bound(int threads) {
  for (const std::int64_t rows : {4096, 65536}) add_norms(rows, 768, threads);
  add_rows(4096, 768, threads);
  add_chains(512, 8, 1024, threads);
  add_adamw(1 << 24, threads);
}

}  // namespace weft::bench
