// # FNet
//
// FNet is a transformer encoder whose attention is replaced by a Fourier transform: tokens are mixed by a fixed matrix,
// without any parameter. This page computes the mixing by matrices and by fast transforms, shows why it is its own
// gradient, builds the layer, the encoder and a classifier, and trains it on a task that needs the order of the tokens.
// Every step is compared with the one before it, and the layer, the encoder and the classifier are compared with the
// library's.
//
// The paper is [FNet: Mixing Tokens with Fourier Transforms](https://arxiv.org/abs/2105.03824) (Lee-Thorp et al., 2021),
// section 3. A well-known page about it is [labml.ai's annotated
// FNet](https://nn.labml.ai/transformers/fnet/index.html), in PyTorch.
#include <weft/config.h>
#include <weft/fnet.h>
#include <weft/optimizer.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weights.h"

namespace {

using weft::DType;
using weft::Shape;
using weft::Tensor;
using Numbers = std::vector<double>;

Tensor random(const Shape& shape, std::uint64_t stream) {
  return weft::Random(1, stream).normal(shape, 0, 1, DType::f64);
}

weft::Init in_f64(std::uint64_t seed) {
  weft::Init init;
  init.random = weft::Random(seed);
  init.dtype = DType::f64;
  return init;
}

// ## Mixing by two matrices
//
// A sequence is a matrix $X$ with $n$ rows, the tokens, and $d$ columns, the channels. The discrete Fourier transform of
// $n$ numbers is a product with the complex matrix $F_n$, $(F_n)_{jk} = e^{-2\pi i jk/n}$. FNet transforms along both
// axes, the channels and the tokens, and keeps the real part (section 3.2):
//
// $$\mathrm{mix}(X) = \mathrm{Re}(F_n X F_d)$$
//
// Each output element depends on every input element. The weights of the mixing are fixed, so the mixing itself learns
// nothing. An FNet learns in its other parts: the embeddings, the feed-forward networks, the norms and the head.
struct Fourier {
  Tensor cosines, sines;  // F = cosines - i sines
};

Fourier fourier_matrix(std::int64_t n) {
  Numbers cosines, sines;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t k = 0; k < n; ++k) {
      const double angle =
          2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  return {Tensor::from(cosines, {n, n}), Tensor::from(sines, {n, n})};
}

Tensor mixed_by_matrices(const Tensor& x) {
  const Fourier n = fourier_matrix(x.size(0)), d = fourier_matrix(x.size(1));
  const Tensor f_n = weft::conj(weft::complex(n.cosines, n.sines)),
               f_d = weft::conj(weft::complex(d.cosines, d.sines));
  const Tensor complex_x = weft::complex(x, weft::scale(x, 0));
  return weft::real(weft::matmul(weft::matmul(f_n, complex_x), f_d));
}

// With $F = C - iS$ (cosines and sines), the real part needs no complex numbers: $\mathrm{mix}(X) = C_n X C_d - S_n X S_d$.
Tensor mixed_by_real_matrices(const Tensor& x) {
  const Fourier n = fourier_matrix(x.size(0)), d = fourier_matrix(x.size(1));
  const Tensor cosines = weft::matmul(weft::matmul(n.cosines, x), d.cosines);
  return cosines - weft::matmul(weft::matmul(n.sines, x), d.sines);
}

STEP("Complex and real matrices") {
  const Tensor x = random({7, 5}, 0);
  expect_same("complex and real matrices", mixed_by_matrices(x),
              mixed_by_real_matrices(x));
}

// ## Mixing by fast transforms
//
// In practice, nobody multiplies by $F_n$. A fast Fourier transform gives the same result in $O(n \log n)$ operations
// instead of $O(n^2)$ for each column. Self-attention costs $O(n^2)$, too, because it computes a score for every pair
// of tokens. [The page about Fourier transforms](fourier.cpp) builds a fast transform. Here we use the library's, first
// along the channels, then along the tokens. The order does not matter, because the two transforms act on different
// axes.
Tensor mixed_by_transforms(const Tensor& x) {
  return weft::real(weft::fft(weft::fft(x, 1), 0));
}

STEP("Fast transforms") {
  for (const auto& [n, d] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {7, 5}, {16, 12}, {13, 32}}) {
    const Tensor x = random({n, d}, 1);
    expect_same("matrices and transforms", mixed_by_matrices(x),
                mixed_by_transforms(x));
  }
}

// The library has one operation for both transforms and the real part. It saves about half of the work, because the
// input is real and only the real part of the result is needed.
Tensor mixed(const Tensor& x) { return weft::fourier_mix(x, -2, -1); }  // (…, n, d)

STEP("One operation") {
  const Tensor x = random({13, 32}, 1);
  expect_same("transforms and fourier_mix", mixed_by_transforms(x), mixed(x));
}

// The products with real matrices take $2 n^2 d + 2 n d^2$ multiplications. On a CPU the transforms are faster at all
// lengths shown here. On TPUs, which multiply matrices very fast, the paper uses matrices for sequences of up to 4096
// tokens (section 3.3).
STEP("Time of the mixing") {
  const std::int64_t d = 64;
  const Fourier f_d = fourier_matrix(d);
  print("plot: Mixing n tokens of 64 channels | n log | time in µs log");
  print("n, real matrices, two transforms, fourier_mix");
  for (std::int64_t n = 16; n <= 1024; n *= 2) {
    const Tensor x = random({n, d}, 2);
    const Fourier f_n = fourier_matrix(n);
    const double matrices = microseconds([&] {
      const Tensor cosines = weft::matmul(f_n.cosines, weft::matmul(x, f_d.cosines));
      (void)(cosines - weft::matmul(f_n.sines, weft::matmul(x, f_d.sines)));
    });
    print("%lld, %.1f, %.1f, %.1f", static_cast<long long>(n), matrices,
          microseconds([&] { (void)mixed_by_transforms(x); }),
          microseconds([&] { (void)mixed(x); }));
  }
}

// ## The mixing is its own gradient
//
// Let the loss depend on $Y = \mathrm{mix}(X)$, and let $G$ be its gradient with respect to $Y$. The mixing is linear,
// so the transposed map turns $G$ into the gradient with respect to $X$. If a map takes $X$ to $A X B$, its transposed
// map takes $G$ to $A^T G\, B^T$. The mixing is $Y = C_n X C_d - S_n X S_d$, so the gradient with respect to $X$ is
//
// $$C_n^T G\, C_d^T - S_n^T G\, S_d^T$$
//
// The element $(j, k)$ of $C$ and $S$ depends on the product $jk$ only. So the matrices are symmetric, and the
// transposed map is the map itself: the gradient is $\mathrm{mix}(G)$. The backward pass of an FNet runs the same
// operation as its forward pass.
STEP("The gradient") {
  const Tensor x = random({13, 8}, 3), g = random({13, 8}, 4);
  weft::Tape tape;
  const Tensor leaf = tape.watch(x);
  weft::Gradients gradients;
  tape.backward(mixed_by_real_matrices(leaf), g, gradients);
  expect_same("the tape's gradient and the mixing of G", gradients.of(leaf), mixed(g));
}

// ## The layer
//
// A layer mixes tokens, then treats each token by a feed-forward network with one hidden layer (section 3.2 and figure
// 1). The result of each part is added to its input, and then normalized:
//
// ![A layer of FNet](drawings/fnet-layer.svg)
Tensor dense(const Weights& w, const Tensor& x) {
  return weft::linear(x, w["weight"], w["bias"]);
}

constexpr double eps = 1e-12;  // of all norms, as in BERT

Tensor norm(const Weights& w, const Tensor& x) {
  return weft::layer_norm(x, 1, w["weight"], w["bias"], eps);
}

Tensor feed_forward(const Weights& w, const Tensor& x) {
  return dense(w.of("proj2"),
               weft::activation(dense(w.of("proj1"), x), weft::Activation::gelu_tanh));
}

Tensor layer(const Weights& w, const Tensor& x) {
  const Tensor h = norm(w.of("mixing_norm"), x + mixed(x));
  return norm(w.of("output_norm"), h + feed_forward(w, h));
}

// This is *post-norm*, as in the paper and in BERT. Most later models instead normalize the input of each part, and do
// not normalize the sum (*pre-norm*). Then gradients reach the first layers through sums without norms. labml.ai's
// program uses pre-norm.
Tensor pre_norm_layer(const Weights& w, const Tensor& x) {
  const Tensor h = x + mixed(norm(w.of("mixing_norm"), x));
  return h + feed_forward(w, norm(w.of("output_norm"), h));
}

STEP("The layer") {
  for (const weft::NormPlace place : {weft::NormPlace::post, weft::NormPlace::pre}) {
    const bool is_post = place == weft::NormPlace::post;
    print("%s:", is_post ? "post-norm" : "pre-norm");
    const weft::FnetLayer library(6, 10, place, in_f64(2));
    const Weights w(weft::parameters_of(library));
    expect_same_gradients(
        [&](const Tensor& x) { return is_post ? layer(w, x) : pre_norm_layer(w, x); },
        [&](const Tensor& x) { return library(x); }, random({3, 7, 6}, 5), w.all());
  }
}

// ## The encoder
//
// FNet takes its embeddings from BERT. There is a vector for each token, one for each position, and one for each token
// type. (Two texts in one sequence have different types. We use only type 0.) Their sum is normalized and projected.
// The layers follow.
Tensor embedded(const Weights& w, const Tensor& tokens) {
  const Tensor positions =
      weft::slice(w["position.weight"], 0, 0, tokens.size(1));  // (n, d)
  const Tensor type = weft::slice(w["type.weight"], 0, 0, 1);   // (1, d)
  const Tensor sum = weft::embedding(tokens, w["word.weight"]) + (positions + type);
  return dense(w.of("projection"), norm(w.of("norm"), sum));
}

Tensor encoder(const Weights& w, const weft::FnetConfig& config, const Tensor& tokens) {
  Tensor x = embedded(w.of("embeddings"), tokens);  // (b, n, d)
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = layer(w.of("layers." + std::to_string(i)), x);
  return x;
}

constexpr std::int64_t symbols = 10, length = 16;

weft::FnetConfig model_config() {
  weft::FnetConfig config;
  config.d_model = 32;
  config.layers = 2;
  config.seq_len = length;
  config.types = 1;
  return config;
}

// ## A classifier
//
// Each row begins with a special token, `[CLS]`. A classifier reads only the encoder's output for this token. After two
// layers of mixing, this output depends on all other tokens. A linear layer with tanh (the *pooler*) and another linear
// layer give one logit for each class.
Tensor classifier(const Weights& w, const weft::FnetConfig& config,
                  const Tensor& tokens) {
  const Tensor x = encoder(w.of("encoder"), config, tokens);
  const Tensor first =
      weft::reshape(weft::slice(x, 1, 0, 1), {x.size(0), config.d_model});
  return dense(w.of("classifier"), weft::activation(dense(w.of("pooler.dense"), first),
                                                    weft::Activation::tanh));
}

// The task is this: two special tokens, 3 and 4, occur once in each row, among random other tokens. Which of them comes
// first? The set of tokens is the same for both answers, so a model that ignores their order can only guess.
struct Rows {
  Tensor tokens, labels;  // (b, n) and (b)
};

Rows rows(std::int64_t count, std::uint64_t stream) {
  const weft::Random draw(7, stream);
  std::vector<std::int64_t> tokens, labels;
  std::uint64_t at = 0;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(draw.below(at++, static_cast<std::uint64_t>(n)));
  };
  for (std::int64_t row = 0; row < count; ++row) {
    std::vector<std::int64_t> one(length, 2);  // 2 is [CLS]
    for (std::size_t i = 1; i < one.size(); ++i) one[i] = 5 + below(symbols - 5);
    const std::int64_t first = 1 + below(length - 2),
                       second = first + 1 + below(length - 1 - first);
    const std::int64_t label = below(2);
    one[static_cast<std::size_t>(first)] = label == 0 ? 3 : 4;
    one[static_cast<std::size_t>(second)] = label == 0 ? 4 : 3;
    tokens.insert(tokens.end(), one.begin(), one.end());
    labels.push_back(label);
  }
  return {Tensor::from(tokens, {count, length}), Tensor::from(labels, {count})};
}

std::unique_ptr<weft::Model> make_classifier() {
  weft::ModelSpec spec;
  spec.arch = "fnet";
  spec.task = weft::Task::classifier;
  spec.vocabulary = symbols;
  spec.classes = 2;
  spec.config = weft::config_to_json(model_config());
  return weft::make_model(spec, in_f64(3));
}

STEP("The encoder and the classifier") {
  const weft::FnetEncoder library(model_config(), symbols, in_f64(4));
  const Weights e(weft::parameters_of(library));
  print("encoder:");
  expect_same_gradients(
      [&](const Tensor& tokens) { return encoder(e, model_config(), tokens); },
      [&](const Tensor& tokens) { return library(tokens); }, rows(3, 0).tokens,
      e.all());
  const auto model = make_classifier();
  const Weights w(model->parameters());
  print("classifier:");
  expect_same_gradients(
      [&](const Tensor& tokens) { return classifier(w, model_config(), tokens); },
      [&](const Tensor& tokens) { return (*model)(tokens); }, rows(3, 0).tokens,
      w.all());
}

// ## Training
//
// One step runs the model on 32 new rows while a tape records, computes the cross entropy of the labels, walks the tape
// back, and lets the optimizer (AdamW) change the parameters. The accuracy is measured on 200 rows that are never used
// for training.
double accuracy(const weft::Model& model, const Rows& test) {
  const Numbers logits = model(test.tokens).to_vector<double>();
  const std::vector<std::int64_t> labels = test.labels.to_vector<std::int64_t>();
  double right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row)
    right += (logits[2 * row + 1] > logits[2 * row]) == (labels[row] == 1);
  return right / static_cast<double>(labels.size());
}

double train_step(const weft::Model& model, weft::Optimizer& optimizer,
                  std::int64_t step, double rate) {
  const Rows batch = rows(32, static_cast<std::uint64_t>(step));
  optimizer.parameters().zero_gradients();
  weft::Tape tape;
  const Tensor loss = weft::cross_entropy(model(batch.tokens), batch.labels);
  tape.backward(loss, optimizer.parameters());
  optimizer.step(step, rate);
  return loss.item();
}

// The learning rate falls to 0, so that the last steps change little.
STEP("Training") {
  constexpr std::int64_t steps = 400;
  const auto model = make_classifier();
  weft::Optimizer optimizer(model->parameters(), {});
  const Rows test = rows(200, 1000000);
  print("plot: Which token comes first? | step | nats, and share of the test rows");
  print("step, loss, test accuracy");
  double loss = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    loss = train_step(*model, optimizer, step,
                      2e-3 * static_cast<double>(steps - step + 1) / steps);
    if (step % 20 == 0)
      print("%lld, %.3f, %.3f", static_cast<long long>(step), loss,
            accuracy(*model, test));
  }
  print("%s", "");
  expect("more than 90 % of the test rows are right", accuracy(*model, test) > 0.9);
}

// ## What is lost without attention
//
// Self-attention computes a score for every pair of tokens from their contents. This costs $O(n^2)$ for $n$ tokens,
// while the mixing of an FNet costs only $O(n \log n)$. But the weights of the mixing do not depend on the contents of
// the tokens, and every token sees all other tokens, including later ones.
//
// A causal language model must not see later tokens. Attention has a weight for each pair of tokens, so a mask can set
// the weights of all later tokens to 0. [gMLP](gmlp.cpp) and [TNN](tnn.cpp) are made causal by zeros, too. A fast
// Fourier transform has no weights for pairs of tokens that a mask could set to 0. It computes partial sums that many
// outputs share, so a token cannot be removed from one output and stay in another. One could set the elements of later
// tokens to 0 in the explicit matrix $F_n$. But this matrix is no longer a discrete Fourier transform. A fast Fourier
// transform does not compute its product, and multiplying by the matrix costs $O(n^2)$ again. The chirp of [Bluestein's
// transform](fourier.cpp#any-length) would turn this product into a causal Toeplitz product, which is fast. But such a
// model would no longer be an FNet.
//
// FNet therefore cannot be a causal language model, and `make_model` refuses to make one. It is made for masked
// language models and classifiers. On the GLUE benchmark, the paper reports 92 to 97 % of the accuracy of BERT, with
// training 80 % faster on GPUs for sequences of 512 tokens (abstract and section 4). An FNet whose last two layers use
// attention instead of the mixing reaches 97 to 99 % of BERT's accuracy.
//
// ## Exercises
//
// 1. Replace `mixed` by the identity in `classifier` and train with it. What is the highest possible accuracy, and why?
// 2. Transform only along the tokens. Does the layer still learn the task? What does the transform along the channels add?
// 3. $F_n F_n$ is $n$ times a permutation. Which one? What does mixing twice do to a sequence?
// 4. Use the discrete cosine transform instead. Is it its own gradient, too?
// 5. The rows of a batch have different lengths, and shorter rows are padded. Which outputs of an FNet change with the
//    padding? Compare with attention and with a TNN.

}  // namespace
