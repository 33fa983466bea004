// # gMLP
//
// A gMLP is a stack of feed-forward networks in which one half of the channels is mixed across the sequence, by a
// learned matrix, and then gates the other half. This page builds the gate from loops, then the block and a language
// model, trains it, and lets it write token by token. Every step is compared with the one before it, and the unit, the
// block and the model are compared with the library's.
//
// The paper is [Pay Attention to MLPs](https://arxiv.org/abs/2105.08050) (Liu et al., 2021), section 2 and figure 1. A
// well-known page about it is [labml.ai's annotated gMLP](https://nn.labml.ai/transformers/gmlp/index.html), in PyTorch.
#include <weft/config.h>
#include <weft/gmlp.h>
#include <weft/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
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

// ## A feed-forward network
//
// Let $X$ hold $n$ tokens of $d$ channels. The feed-forward network of a transformer treats each token by itself:
//
// $$Z = \sigma(X U), \qquad Y = Z V$$
//
// $U$ increases the number of channels, $\sigma$ is the activation GELU, and $V$ reduces the number to $d$ again. A
// gMLP puts an operation $\tilde Z = s(Z)$ between the two, which lets tokens see each other. Everything on this page
// is about $s$.
//
// ![A block of a gMLP](drawings/gmlp-block.svg)
//
// ## Mixing tokens
//
// The simplest operation that lets tokens see each other is a matrix over the sequence: a *spatial* projection, in
// contrast to $U$ and $V$, which mix channels. $W$ has $n \times n$ elements, $b$ has $n$, and they are the same for all
// channels:
//
// $$f_{W,b}(Z)_{ic} = \sum_{j} W_{ij} Z_{jc} + b_i$$
//
// In contrast to attention, $W$ does not depend on the contents of the tokens. It is a parameter. These are the three
// loops for one sequence of $n$ tokens and $d$ channels:
Tensor mixed_by_loops(const Tensor& weight, const Tensor& bias, const Tensor& z) {
  const auto n = static_cast<std::size_t>(z.size(0)),
             d = static_cast<std::size_t>(z.size(1));
  const Numbers w = weight.to_vector<double>(), b = bias.to_vector<double>(),
                x = z.to_vector<double>();
  Numbers y(n * d);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < d; ++c) {
      y[i * d + c] = b[i];
      for (std::size_t j = 0; j < n; ++j) y[i * d + c] += w[i * n + j] * x[j * d + c];
    }
  return Tensor::from(y, z.shape());
}

// For many sequences at a time, `einsum` expresses the same sum with names of axes. The library's gMLP stores sequences
// as (n, b, d): tokens first, then the batch, then channels. The product is then one multiplication of $W$ by a matrix
// with $b \cdot d$ columns, and no element needs to be moved.
Tensor mixed(const Tensor& weight, const Tensor& bias, const Tensor& z) {
  return weft::einsum("ij,jbc->ibc", {weight, z}) + weft::reshape(bias, {-1, 1, 1});
}

STEP("Loops and einsum") {
  const Tensor w = random({7, 7}, 0), b = random({7}, 1), z = random({7, 3, 5}, 2);
  for (std::int64_t s = 0; s < 3; ++s) {
    const Tensor one = weft::reshape(weft::slice(z, 1, s, s + 1), {7, 5});
    const Tensor of_all =
        weft::reshape(weft::slice(mixed(w, b, z), 1, s, s + 1), {7, 5});
    expect_same("a sequence by loops and by einsum", mixed_by_loops(w, b, one), of_all);
  }
}

// ## Causal, and shorter
//
// Two details are needed for language models. First, a token must not see later tokens, or it could copy the answer. So
// a mask sets all $W_{ij}$ with $j > i$ to 0. Second, a text may be shorter than the longest sequence, for which $W$
// was made. Then the upper left corner of $W$ is used. The mask makes this consistent: token $i$ gets the same value in
// a text of any length above $i$. Without the mask, row $i$ of $W$ also has weights for later tokens. A shorter text
// lacks some of these tokens, and their terms are missing from the sum. The value of token $i$ would then change with
// the length of the text.
//
// ![The causal part of W, and the corner for a shorter text](drawings/gmlp-causal.svg)
Tensor causal_corner(const Tensor& weight, std::int64_t n) {
  Numbers mask;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) mask.push_back(j <= i ? 1 : 0);
  return weft::slice(weft::slice(weight, 0, 0, n), 1, 0, n) *
         Tensor::from(mask, {n, n});
}

STEP("Causal, and shorter") {
  const Tensor w = random({7, 7}, 0), b = random({7}, 1), z = random({7, 3, 5}, 2);
  const Tensor all = mixed(causal_corner(w, 7), b, z);
  const Tensor four =
      mixed(causal_corner(w, 4), weft::slice(b, 0, 0, 4), weft::slice(z, 0, 0, 4));
  expect_same("the first four tokens, alone and in a longer text", four,
              weft::slice(all, 0, 0, 4));
}

// ## The gate
//
// The mixed channels are not the output. They are multiplied with other channels, element by element ($\odot$). For this,
// $Z$ is divided into two halves along the channels:
//
// $$s(Z) = Z_1 \odot f_{W,b}(Z_2)$$
//
// $Z_1$ carries the token's own content, and $f(Z_2)$, which depends on the other tokens, decides how much of it
// passes. In an ordinary gated linear unit, like the one in [the layer of a TNN](tnn.cpp#the-layer), the gate comes
// from the same token instead. The product makes the unit quadratic in its input: it can express "if there was such a
// token before, then …", which a sum cannot. The library computes mixing and gate in one operation, which skips the
// half of $W$ that the mask removes.
Tensor gate(const Tensor& z1, const Tensor& z2, const Tensor& weight,
            const Tensor& bias, bool causal) {
  const std::int64_t n = z1.size(0);
  const Tensor corner = weft::slice(weft::slice(weight, 0, 0, n), 1, 0, n);
  return z1 * mixed(causal ? causal_corner(weight, n) : corner,
                    weft::slice(bias, 0, 0, n), z2);
}

STEP("The gate") {
  const Tensor w = random({7, 7}, 0), b = random({7}, 1), z1 = random({7, 3, 5}, 2),
               z2 = random({7, 3, 5}, 3);
  for (const bool causal : {true, false})
    expect_same(causal ? "causal" : "all tokens", gate(z1, z2, w, b, causal),
                weft::spatial_gate(z1, z2, w, b, causal));
}

// ## The spatial gating unit
//
// The paper also normalizes $Z_2$ before it is mixed. Norm, mixing and gate together are the *spatial gating unit*. We
// take the parameters from the library's unit by their names.
Tensor norm(const Weights& w, const Tensor& x) {
  return weft::layer_norm(x, 1, w["weight"], w["bias"]);
}

Tensor gating_unit(const Weights& w, const Tensor& z, bool causal) {
  const std::vector<Tensor> halves = weft::chunk(z, 2, 2);  // two of (n, b, d_z/2)
  return gate(halves[0], norm(w.of("norm"), halves[1]), w["weight"], w["bias"], causal);
}

weft::SpatialMask mask(bool causal) {
  return causal ? weft::SpatialMask::causal() : weft::SpatialMask();
}

STEP("The spatial gating unit") {
  const weft::SpatialGatingUnit library(10, 9, in_f64(2));  // for up to 9 tokens
  const Weights w(weft::parameters_of(library));
  for (const bool causal : {true, false}) {
    print("%s, 7 tokens:", causal ? "causal" : "not causal");
    expect_same_gradients(
        [&](const Tensor& z) { return gating_unit(w, z, causal); },
        [&](const Tensor& z) { return library.tokens_first(z, mask(causal)); },
        random({7, 3, 10}, 4), w.all());
  }
}

// ## Why W begins near 0 and b at 1
//
// The paper calls this critical for stable training. With $W \approx 0$ and $b = 1$, we have $f(Z_2) \approx 1$ and
// $s(Z) \approx Z_1$. So at first the unit passes one half of the channels on unchanged. Each block starts close to an
// ordinary feed-forward layer, which treats each token by itself, and learns to mix during training. With a large
// random $W$, each block would instead multiply its channels by random numbers. The library draws $W$ from the uniform
// distribution on $(-0.01, 0.01)$.
STEP("How far the gate is from 1 at first") {
  const weft::SpatialGatingUnit unit(64, 32, in_f64(3));
  const Weights w(weft::parameters_of(unit));
  const Tensor z2 = norm(w.of("norm"), random({32, 4, 32}, 5));
  const auto deviation = [&](const Tensor& weight) {
    const Tensor off = mixed(causal_corner(weight, 32), w["bias"], z2) -
                       Tensor::full({1}, 1, DType::f64);
    return std::sqrt(weft::mean(weft::square(off)).item());
  };
  print("root mean square of f(Z2) - 1, with W as the library begins: %.3f",
        deviation(w["weight"]));
  print("the same, with W from the normal distribution:               %.3f",
        deviation(random({32, 32}, 6)));
  expect("the gate begins near 1", deviation(w["weight"]) < 0.05);
}

// We will see the effect of this choice on training below, when there is a model.
//
// ## The block
//
// A block normalizes its input, applies $U$, GELU, the unit and $V$, and adds the result to the input:
//
// $$Y = X + s\bigl(\sigma(\mathrm{norm}(X)\, U)\bigr)\, V$$
Tensor dense(const Weights& w, const Tensor& x) {
  return weft::linear(x, w["weight"], w["bias"]);
}

Tensor block(const Weights& w, const Tensor& x, bool causal) {
  const Tensor z = weft::activation(dense(w.of("proj1"), norm(w.of("norm"), x)),
                                    weft::Activation::gelu);
  return x + dense(w.of("proj2"), gating_unit(w.of("sgu"), z, causal));
}

STEP("The block") {
  const weft::GmlpBlock library(6, 20, 9, in_f64(4));
  const Weights w(weft::parameters_of(library));
  for (const bool causal : {true, false}) {
    print("%s:", causal ? "causal" : "not causal");
    expect_same_gradients(
        [&](const Tensor& x) { return block(w, x, causal); },
        [&](const Tensor& x) { return library.tokens_first(x, mask(causal)); },
        random({7, 3, 6}, 7), w.all());
  }
}

// ## A language model
//
// The model looks up a row of the embedding for each token, scales it by $\sqrt d$, and adds a vector for its position.
// The paper needs no such vectors, because row $i$ of $W$ already belongs to position $i$. labml.ai's program adds
// sinusoidal positions nevertheless. In the library, this is the option `positions` of the config, which is on by
// default. It must be on for checkpoints of labml.ai's program, and off for those of g-mlp-pytorch. The positions are:
//
// $$P_{p,2k} = \sin\frac{p}{10000^{2k/d}}, \qquad P_{p,2k+1} = \cos\frac{p}{10000^{2k/d}}$$
Tensor positions(std::int64_t n, std::int64_t d) {
  Numbers p;
  for (std::int64_t at = 0; at < n; ++at)
    for (std::int64_t c = 0; c < d; ++c) {
      const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(d);
      const double angle = static_cast<double>(at) / std::pow(10000.0, exponent);
      p.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return Tensor::from(p, {n, 1, d});
}

// Then come the blocks, a last norm, and a linear layer with one logit for each symbol.
Tensor embedded(const Weights& w, const weft::GmlpConfig& config,
                const Tensor& tokens) {
  const Tensor x = weft::embedding(weft::transpose(tokens, 0, 1),
                                   w["embedding.weight"]);  // (n, b, d)
  return weft::scale(x, std::sqrt(static_cast<double>(config.d_model))) +
         positions(x.size(0), config.d_model);
}

Tensor language_model(const Weights& w, const weft::GmlpConfig& config,
                      const Tensor& tokens) {
  Tensor x = embedded(w, config, tokens);
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = block(w.of("blocks." + std::to_string(i)), x, true);
  return weft::transpose(dense(w.of("head"), norm(w.of("norm"), x)), 0,
                         1);  // (b, n, symbols)
}

// The text is one sentence, repeated. Its tokens are characters. The symbols are the distinct characters of the
// sentence, in ascending order.
const std::string sentence = "she sells sea shells by the sea shore. ";

std::string symbols() {
  std::string all = sentence;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::int64_t id_of(char c) { return static_cast<std::int64_t>(symbols().find(c)); }

// A batch consists of windows at random places of the repeated text. The target of each token is the next token.
constexpr std::int64_t length = 32;

struct Batch {
  Tensor input, target;  // (b, n)
};

Batch batch(std::int64_t texts, std::int64_t n, std::uint64_t stream) {
  const weft::Random place(5, stream);
  std::vector<std::int64_t> input, target;
  for (std::int64_t s = 0; s < texts; ++s) {
    const std::size_t first =
        place.below(static_cast<std::uint64_t>(s), sentence.size());
    for (std::size_t i = first; i < first + static_cast<std::size_t>(n); ++i) {
      input.push_back(id_of(sentence[i % sentence.size()]));
      target.push_back(id_of(sentence[(i + 1) % sentence.size()]));
    }
  }
  return {Tensor::from(input, {texts, n}), Tensor::from(target, {texts, n})};
}

weft::GmlpConfig model_config() {
  weft::GmlpConfig config;
  config.d_model = 16;
  config.d_ffn = 64;
  config.layers = 2;
  config.seq_len = length;
  return config;
}

std::unique_ptr<weft::Model> make_language_model() {
  weft::ModelSpec spec;
  spec.arch = "gmlp";
  spec.vocabulary = static_cast<std::int64_t>(symbols().size());
  spec.config = weft::config_to_json(model_config());
  return weft::make_model(spec, in_f64(6));
}

STEP("A language model") {
  const auto model = make_language_model();
  const Weights w(model->parameters());
  expect_same_gradients(
      [&](const Tensor& tokens) { return language_model(w, model_config(), tokens); },
      [&](const Tensor& tokens) { return (*model)(tokens); }, batch(2, 13, 0).input,
      w.all());
}

// ## Training
//
// One step runs the model on a batch while a tape records, computes the cross entropy, walks the tape back for the
// gradients, and lets the optimizer (AdamW) change the parameters.
double train_step(const weft::Model& model, weft::Optimizer& optimizer,
                  std::int64_t step) {
  const Batch data = batch(8, length, static_cast<std::uint64_t>(step));
  optimizer.parameters().zero_gradients();
  weft::Tape tape;
  const Tensor loss = weft::cross_entropy(model(data.input), data.target);
  tape.backward(loss, optimizer.parameters());
  optimizer.step(step, 3e-3);
  return loss.item();
}

Numbers losses_of(const weft::Model& model, std::int64_t steps) {
  weft::Optimizer optimizer(model.parameters(), {});
  Numbers losses;
  for (std::int64_t step = 1; step <= steps; ++step)
    losses.push_back(train_step(model, optimizer, step));
  return losses;
}

// The plot compares two models. One is initialized as in the paper. In the other, the $W$ of each block is initialized
// with random numbers of standard deviation 1.
STEP("Training, with two beginnings") {
  const auto papers = make_language_model(), other = make_language_model();
  std::uint64_t stream = 100;
  for (const auto& [name, parameter] : other->parameters())
    if (name.find("sgu.weight") != std::string::npos) {
      weft::Parameter handle = parameter;
      handle.assign(random({length, length}, stream++));
    }
  const Numbers near_zero = losses_of(*papers, 120), wild = losses_of(*other, 120);
  print("plot: Loss in training | step | nats per character");
  print("step, W near 0 and b = 1, W of deviation 1");
  for (std::size_t step = 0; step < 120; step += 4)
    print("%zu, %.3f, %.3f", step + 1, near_zero[step], wild[step]);
  print("%s", "");
  expect("the paper's beginning has the lower loss at the end",
         near_zero.back() < wild.back());
}

// We train a model for the steps below until it knows the sentence.
const weft::Model& trained() {
  static const std::unique_ptr<weft::Model> model = [] {
    auto made = make_language_model();
    (void)losses_of(*made, 400);
    return made;
  }();
  return *model;
}

// ## Token by token
//
// To write, the model predicts a token, appends it, and predicts the next one. What must be computed for a new token,
// if the results for all earlier tokens are kept? Norms, $U$, $V$ and the head treat each token by itself, so they run
// for the new token only. In the gate, the new token $i$ needs row $i$ of $W$ and the normalized $Z_2$ of all tokens so
// far:
//
// $$s(Z)_i = Z_{1,i} \odot \Bigl(\sum_{j \le i} W_{ij} Z_{2,j} + b_i\Bigr)$$
//
// So each block keeps its normalized $Z_2$, one row for each token. A new token costs $O(n\,d)$ for the gate instead of
// $O(n^2 d)$.
class Writer {
 public:
  Writer(const Weights& w, const weft::GmlpConfig& config)
      : w_(w), config_(config), kept_(static_cast<std::size_t>(config.layers)) {}

  // Appends a token and returns the logits of the next one, (symbols).
  Tensor append(std::int64_t token) {
    const Tensor row = weft::embedding(
        Tensor::from(std::vector<std::int64_t>{token}, {1, 1}), w_["embedding.weight"]);
    const Tensor place =
        weft::slice(positions(count_ + 1, config_.d_model), 0, count_, count_ + 1);
    Tensor x = weft::scale(row, std::sqrt(static_cast<double>(config_.d_model))) +
               place;  // (1, 1, d)
    for (std::size_t i = 0; i < kept_.size(); ++i)
      x = next_of_block(w_.of("blocks." + std::to_string(i)), x, kept_[i]);
    ++count_;
    return weft::reshape(dense(w_.of("head"), norm(w_.of("norm"), x)), {-1});
  }

 private:
  // The block for one new token. `kept` contains the normalized Z2 of all tokens so far, (n, d_z/2).
  Tensor next_of_block(const Weights& w, const Tensor& x, Tensor& kept) const {
    const Tensor z = weft::activation(dense(w.of("proj1"), norm(w.of("norm"), x)),
                                      weft::Activation::gelu);
    const std::vector<Tensor> halves = weft::chunk(z, 2, 2);
    const Tensor z2 = weft::reshape(norm(w.of("sgu.norm"), halves[1]), {1, -1});
    kept = kept.defined() ? weft::concat({kept, z2}, 0) : z2;
    const Tensor row = weft::slice(weft::slice(w["sgu.weight"], 0, count_, count_ + 1),
                                   1, 0, count_ + 1);
    const Tensor f =
        weft::matmul(row, kept) + weft::slice(w["sgu.bias"], 0, count_, count_ + 1);
    return x + dense(w.of("proj2"), halves[0] * weft::reshape(f, {1, 1, -1}));
  }

  const Weights& w_;
  weft::GmlpConfig config_;
  std::vector<Tensor> kept_;
  std::int64_t count_ = 0;
};

STEP("Token by token") {
  const Weights w(trained().parameters());
  const Tensor tokens = batch(1, length, 1000000).input;
  const Tensor all = weft::reshape(trained()(tokens), {length, -1});
  Writer writer(w, model_config());
  const auto stream = trained().stream();
  std::vector<Tensor> ours, librarys;
  for (const std::int64_t token : tokens.to_vector<std::int64_t>()) {
    ours.push_back(weft::reshape(writer.append(token), {1, -1}));
    librarys.push_back(weft::reshape(stream->next(token), {1, -1}));
  }
  expect_same("token by token and all at once", weft::concat(ours, 0), all);
  expect_same("the library's stream and all at once", weft::concat(librarys, 0), all);
}

// The model gets a short beginning, and then writes the most likely character at each step:
STEP("Writing") {
  const Weights w(trained().parameters());
  Writer writer(w, model_config());
  std::string text = "she ";
  Tensor logits;
  for (const char c : text) logits = writer.append(id_of(c));
  while (static_cast<std::int64_t>(text.size()) < length) {
    const Numbers all = logits.to_vector<double>();
    const auto best = std::max_element(all.begin(), all.end()) - all.begin();
    text += symbols()[static_cast<std::size_t>(best)];
    logits = writer.append(best);
  }
  print("%s", text.c_str());
  expect("it knows the sentence", text == sentence.substr(0, length));
}

// A gMLP has a maximum length, because $W$ has a fixed size. The library's stream can continue beyond it. When the
// window is full, the stream keeps the newer half, and reads it again from position 0.
//
// ## Exercises
//
// 1. Print the mean of $W_{ij}$ over each diagonal $i - j$ after training. Which lags are large? Compare with a TNN,
//    whose matrix has equal diagonals by construction.
// 2. Replace the gate by a sum, $Z_1 + f(Z_2)$, in `gate` and train with your own model instead of the library's. How
//    does the loss change?
// 3. Remove `positions`. Does the model still learn the sentence?
// 4. Why may the weights $W_{ij}$ with $j > i$ have any value in a causal model? What are their gradients?
// 5. How many multiplications does the gate save by skipping the upper half of $W$? Why does the library save less?

}  // namespace
