// Runs every family of operations on inputs that are large enough for several tasks. The forward and backward results
// must have the same bits for any number of threads.
#include <doctest/doctest.h>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

struct Large {
  const char* name;
  std::vector<In> inputs;
  Function run;
};

using Tensors = std::vector<Tensor>;

In real_in(const Shape& shape) { return {shape, -1, 1, 0, DType::f64, true}; }

std::vector<Large> large_cases() {
  const In rows = real_in({300, 257}), cube = real_in({4, 130, 200});
  return {
      {"add", {rows, real_in({257})}, [](const Tensors& x) { return add(x[0], x[1]); }},
      {"mul transposed",
       {rows, real_in({257, 300})},
       [](const Tensors& x) { return mul(x[0], transpose(x[1], 0, 1)); }},
      {"div", {rows, {{300, 1}, 1, 2}}, [](const Tensors& x) { return div(x[0], x[1]); }},
      {"gelu", {rows}, [](const Tensors& x) { return activation(x[0], Activation::gelu); }},
      {"exp", {rows}, [](const Tensors& x) { return exp(x[0]); }},
      {"sin", {rows}, [](const Tensors& x) { return sin(x[0]); }},
      {"maximum", {rows, real_in({257})}, [](const Tensors& x) { return maximum(x[0], x[1]); }},
      {"pow", {{{300, 257}, 0.1, 3}, real_in({300, 1})}, [](const Tensors& x) { return pow(x[0], x[1]); }},
      {"where", {rows, real_in({257})}, [](const Tensors& x) { return where(less(x[0], x[1]), x[0], x[1]); }},
      {"clamp", {rows}, [](const Tensors& x) { return clamp(2.5 / (x[0] + 3.0), 0.7, 1); }},
      {"binary_cross_entropy_with_logits",
       {rows, rows},
       [](const Tensors& x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"complex", {rows, rows}, [](const Tensors& x) { return real(mul(complex(x[0], x[1]), complex(x[1], x[0]))); }},
      {"sum of rows", {rows}, [](const Tensors& x) { return sum(x[0], {1}); }},
      {"sum of columns", {rows}, [](const Tensors& x) { return sum(x[0], {0}); }},
      {"mean of all", {rows}, [](const Tensors& x) { return mean(x[0]); }},
      {"max", {rows}, [](const Tensors& x) { return max(x[0], 1); }},
      {"softmax", {rows}, [](const Tensors& x) { return softmax(x[0], 1); }},
      {"log_softmax", {rows}, [](const Tensors& x) { return log_softmax(x[0], 0); }},
      {"cross_entropy", {rows, indices({300}, 257)}, [](const Tensors& x) { return cross_entropy(x[0], x[1]); }},
      {"embedding", {indices({500}, 40), real_in({40, 100})}, [](const Tensors& x) { return embedding(x[0], x[1]); }},
      {"layer_norm",
       {rows, real_in({257}), real_in({257})},
       [](const Tensors& x) { return layer_norm(x[0], 1, x[1], x[2]); }},
      {"rms_norm", {rows}, [](const Tensors& x) { return rms_norm(x[0]); }},
      {"linear",
       {rows, real_in({190, 257}), real_in({190})},
       [](const Tensors& x) { return linear(x[0], x[1], x[2]); }},
      {"matmul", {real_in({3, 90, 110}), real_in({3, 110, 100})}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"einsum",
       {real_in({130, 130}), real_in({130, 4, 100})},
       [](const Tensors& x) {
         return einsum("ij,jbd->ibd", {x[0], x[1]});
       }},
      {"concat",
       {rows, rows},
       [](const Tensors& x) {
         return concat({x[0], x[1]}, 0);
       }},
      {"index_select", {rows, indices({700}, 300)}, [](const Tensors& x) { return index_select(x[0], 0, x[1]); }},
      {"gather", {rows, indices({290, 300}, 257)}, [](const Tensors& x) { return gather(x[0], 1, x[1]); }},
      {"scatter_add",
       {rows, indices({290, 300}, 257), real_in({290, 300})},
       [](const Tensors& x) { return scatter_add(x[0], 1, x[1], x[2]); }},
      {"gather, scatter_add, first axis",
       {rows, indices({310, 257}, 300), real_in({310, 257})},
       [](const Tensors& x) { return scatter_add(gather(x[0], 0, x[1]), 0, x[1], x[2]); }},
      {"mse_loss, l1_loss, huber_loss",
       {rows, rows},
       [](const Tensors& x) { return mse_loss(x[0], x[1]) + l1_loss(x[0], x[1]) + huber_loss(x[0], x[1]); }},
      {"topk", {rows}, [](const Tensors& x) { return topk(x[0], 20, 0).values; }},
      {"cumsum", {cube}, [](const Tensors& x) { return cumsum(x[0], 1); }},
      {"cumprod", {cube}, [](const Tensors& x) { return cumprod(x[0] + 1.0, 2); }},
      {"var, norm, logsumexp",
       {rows},
       [](const Tensors& x) { return var(x[0], {1}) + norm(x[0], 2, {1}) + logsumexp(x[0], 1); }},
      {"conv1d",
       {real_in({3, 40, 200}), real_in({60, 40, 5}), real_in({60})},
       [](const Tensors& x) { return conv1d(x[0], x[1], x[2]); }},
      {"conv1d, depth-wise",
       {real_in({3, 90, 200}), real_in({90, 1, 4})},
       [](const Tensors& x) {
         return conv1d(x[0], x[1], {}, {1, 0, 1, 90, true});
       }},
      {"max_pool1d", {cube}, [](const Tensors& x) { return max_pool1d(x[0], 3, 2); }},
      {"mean_pool1d", {cube}, [](const Tensors& x) { return mean_pool1d(x[0], 30, 7); }},
      {"fft", {cube}, [](const Tensors& x) { return real(fft(x[0], 1)); }},
      {"rfft, irfft", {cube}, [](const Tensors& x) { return irfft(rfft(x[0], 2), 200, 2); }},
      {"fourier_mix", {cube}, [](const Tensors& x) { return fourier_mix(x[0], 1, 2); }},
      {"toeplitz_product, ring",
       {real_in({3, 2, 90, 50}), real_in({2, 179, 50})},
       [](const Tensors& x) { return toeplitz_product(x[0], x[1], false, ToeplitzForm::ring); }},
      {"toeplitz_product, naive",
       {real_in({3, 2, 90, 50}), real_in({2, 90, 50})},
       [](const Tensors& x) { return toeplitz_product(x[0], x[1], true, ToeplitzForm::naive); }},
      {"toeplitz_product, matrix",
       {real_in({3, 2, 90, 50}), real_in({2, 90, 50})},
       [](const Tensors& x) { return toeplitz_product(x[0], x[1], true, ToeplitzForm::matrix); }},
      {"circulant_product",
       {real_in({4, 90, 100}), real_in({90, 100})},
       [](const Tensors& x) { return circulant_product(x[0], x[1]); }},
  };
}

}  // namespace

TEST_CASE("large operations: the same bits for any number of threads") {
  for (const Large& c : large_cases()) {
    CAPTURE(c.name);
    Tensors inputs;
    std::vector<bool> needs;
    for (const In& in : c.inputs) {
      inputs.push_back(to_single(random_tensor(in, inputs.size() + 1)));
      needs.push_back(in.differentiable);
    }
    const auto run = [&](int threads) {
      Context context;
      context.set_threads(threads);
      ContextScope scope(context);
      return differentiate(c.run, inputs, needs);
    };
    const Differentiated one = run(1);
    for (int threads : {2, 3, 8}) {
      const Differentiated many = run(threads);
      CHECK(same_bits(many.y, one.y));
      for (std::size_t i = 0; i < needs.size(); ++i)
        if (needs[i]) CHECK(same_bits(many.gradients[i], one.gradients[i]));
    }
  }
}

}  // namespace weft::test
