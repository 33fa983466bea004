// # TNN
//
// A Toeplitz neural network (TNN) mixes the tokens of a sequence by [Toeplitz products](toeplitz.cpp). A small network
// computes their coefficients. This page builds this small network, the layers, and a language model. The model is
// trained, runs on longer sequences, and writes token by token. Every step is compared with the library's.
//
// The paper is [Toeplitz Neural Network for Sequence Modeling](https://arxiv.org/abs/2305.04749) (Qin et al., ICLR
// 2023). The authors' programs are [OpenNLPLab/Tnn](https://github.com/OpenNLPLab/Tnn) and
// [tnn-pytorch](https://github.com/Doraemonzzz/tnn-pytorch).
#include <weft/config.h>
#include <weft/optimizer.h>
#include <weft/tnn.h>

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

// The examples below use random numbers.
Tensor random(const Shape& shape, std::uint64_t stream) {
  return weft::Random(1, stream).normal(shape, 0, 1, DType::f64);
}

// ## The relative position encoder
//
// If the coefficients were parameters, a model would have $2n - 1$ of them for each channel, and could not be used for
// sequences longer than $n$. The paper instead computes them with a small network (section 3.3), the *relative position
// encoder*. It is a function of the lag, and is the same for all lengths. Its number of parameters does not depend on
// $n$. It begins with one linear layer from the number $k$ to `rpe_dim` channels. Then come some layers of norm,
// activation and linear layer. The last one has as many outputs as there are channels to mix. The input is the lag
// itself, a real number.
Tensor norm_act_linear(const Weights& w, const Tensor& x) {
  const Tensor norm = weft::layer_norm(x, 1, w["0.weight"], w["0.bias"]);
  return weft::linear(weft::activation(norm, weft::Activation::relu), w["2.weight"],
                      w["2.bias"]);
}

Tensor position_encoder(const Weights& w, const weft::TnnConfig& config,
                        const Tensor& lags) {
  Tensor x =
      weft::linear(lags, w["pos_proj.weight"], w["pos_proj.bias"]);  // (m, rpe_dim)
  for (std::int64_t i = 0; i < config.rpe_layers; ++i)
    x = norm_act_linear(w.of("layers." + std::to_string(i)), x);
  return norm_act_linear(w.of("out"), x);  // (m, channels)
}

// We write out each part, and take the parameters from the library's layers by their names, which are those of the
// authors' program. `Weights` looks them up.
weft::TnnConfig small_config() {
  weft::TnnConfig config;
  config.d_model = 6;
  config.heads = 2;
  config.expand_ratio = 2;
  config.rpe_dim = 8;
  config.rpe_layers = 2;
  config.gamma = 0.9;
  return config;
}

weft::Init in_f64(std::uint64_t seed) {
  weft::Init init;
  init.random = weft::Random(seed);
  init.dtype = DType::f64;
  return init;
}

Tensor column_of_lags(std::int64_t first, std::int64_t end) {
  Numbers lags;
  for (std::int64_t k = first; k < end; ++k) lags.push_back(static_cast<double>(k));
  return Tensor::from(lags, {end - first, 1});
}

STEP("The relative position encoder") {
  const weft::Rpe library(12, small_config(), in_f64(2));
  const Weights w(weft::parameters_of(library));
  expect_same_gradients(
      [&](const Tensor& lags) { return position_encoder(w, small_config(), lags); },
      library, column_of_lags(-6, 7), w.all());
}

// ## Exponential decay
//
// The encoder computes a value for any lag, but nothing makes its values small at large lags. A model that was trained
// on short sequences gets arbitrary values for lags that it has never seen. In a longer sequence, these values would
// add distant tokens with arbitrary weights. The paper therefore multiplies the coefficients by a decay (section 3.4):
//
// $$t_k = \lambda^{|k|}\, \mathrm{rpe}(k), \qquad 0 < \lambda < 1$$
//
// The decay keeps the coefficients of large lags small, whatever the encoder computes for them. So tokens at unknown
// lags contribute little, and the model can run on sequences longer than those of its training. [A step
// below](#longer-than-it-was-trained-on) measures this. In the config, $\lambda$ is called `gamma`. With the default,
// 0.99, the weight of a token at distance 100 is multiplied by 37 %, and that of a token at distance 1000 by 0.004 %.
Tensor coefficients(const Weights& w, const weft::TnnConfig& config,
                    const Tensor& lags) {
  Numbers decay = lags.to_vector<double>();
  for (double& k : decay) k = std::pow(config.gamma, std::abs(k));
  return position_encoder(w.of("rpe"), config, lags) *
         Tensor::from(decay, lags.shape());  // (m, channels)
}

// The plot shows one channel of an encoder before training.
STEP("Coefficients with and without decay") {
  weft::TnnConfig config = small_config();
  config.gamma = 0.97;
  const weft::Tno tno(2, 6, config, true, in_f64(3));
  const Weights w(weft::parameters_of(tno));
  const Tensor lags = column_of_lags(0, 128);
  const Numbers without =
      position_encoder(w.of("rpe"), config, lags).to_vector<double>();
  const Numbers with = coefficients(w, config, lags).to_vector<double>();
  print("plot: Coefficients of one channel | lag | coefficient");
  print("lag, without decay, gamma = 0.97");
  for (std::size_t k = 0; k < 128; ++k)
    print("%zu, %.4f, %.4f", k, without[12 * k], with[12 * k]);
}

// ## The Toeplitz neural operator
//
// Encoder, decay and product together are the *Toeplitz neural operator* (Tno). For each channel of $x$, it computes
// the coefficients for the length of this $x$, and mixes the tokens. Output channel $c$ of the encoder belongs to
// channel $c \bmod d$ of head $\lfloor c / d \rfloor$. As in [Toeplitz products](toeplitz.cpp), $x$ has the shape
// $(b, h, n, d)$, with $h$ heads of $d$ channels each.
Tensor tno(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
           bool causal) {
  const std::int64_t h = x.size(1), n = x.size(2), d = x.size(3);
  const Tensor t =
      coefficients(w, config, column_of_lags(causal ? 0 : 1 - n, n));  // (m, h d)
  return weft::toeplitz_product(
      x, weft::permute(weft::reshape(t, {-1, h, d}), {1, 0, 2}), causal);
}

STEP("The Toeplitz neural operator") {
  for (const bool causal : {true, false}) {
    print("%s:", causal ? "causal" : "bidirectional");
    const weft::Tno library(2, 6, small_config(), causal, in_f64(4));
    const Weights w(weft::parameters_of(library));
    expect_same_gradients(
        [&](const Tensor& x) { return tno(w, small_config(), x, causal); }, library,
        random({3, 2, 7, 6}, 6), w.all());
  }
}

// ## The gated Toeplitz unit
//
// The operator mixes tokens, each channel by itself, and it is linear in $x$. The *gated Toeplitz unit* (GTU, section
// 3.1) puts it between linear layers that mix channels, and adds a gate. $\odot$ is the product element by element:
//
// $$\mathrm{GTU}(x) = O\bigl(\phi(U x) \odot \mathrm{Tno}(\phi(V x))\bigr)$$
//
// $U$ and $V$ are linear layers to more channels (`expand_ratio` times as many), $O$ is a linear layer back to the
// original number of channels, and $\phi$ is the activation SiLU, $x/(1 + e^{-x})$. The gate $\phi(U x)$ depends on the
// content of token $i$, and decides how much of the mixed tokens passes. The operator is linear and only adds up
// contributions of tokens. The gate is the first part of a layer that combines the contents of different tokens
// nonlinearly.
Tensor dense(const Weights& w, const Tensor& x) {
  return weft::linear(x, w["weight"], w["bias"]);
}

Tensor gtu(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
           bool causal) {
  const std::int64_t b = x.size(0), n = x.size(1), h = config.heads;
  const Tensor u = weft::silu(dense(w.of("u_proj"), x)),
               v = weft::silu(dense(w.of("v_proj"), x));  // (b, n, h d)
  const Tensor heads =
      weft::permute(weft::reshape(v, {b, n, h, -1}), {0, 2, 1, 3});  // (b, h, n, d)
  const Tensor mixed =
      weft::permute(tno(w.of("toep"), config, heads, causal), {0, 2, 1, 3});
  return dense(w.of("o"), u * weft::reshape(mixed, v.shape()));
}

STEP("The gated Toeplitz unit") {
  const weft::Gtu library(6, small_config(), true, in_f64(5));
  const Weights w(weft::parameters_of(library));
  expect_same_gradients(
      [&](const Tensor& x) { return gtu(w, small_config(), x, true); },
      [&](const Tensor& x) { return library(x); }, random({2, 7, 6}, 7), w.all());
}

// ## The layer
//
// The second half of a layer is a *gated linear unit* (GLU), which mixes the channels of each token. It has the same
// formula without the operator:
//
// $$\mathrm{GLU}(x) = L_3\bigl(\phi(L_1 x) \odot L_2 x\bigr)$$
Tensor glu(const Weights& w, const Tensor& x) {
  return dense(w.of("l3"), weft::silu(dense(w.of("l1"), x)) * dense(w.of("l2"), x));
}

// A layer (figure 2 of the paper) applies both units. Each unit has a norm before it, and its result is added to its
// input:
//
// ![A layer of a TNN: norm, GTU, sum; norm, GLU, sum](drawings/tnn-layer.svg)
Tensor norm(const Weights& w, const Tensor& x) {
  return weft::layer_norm(x, 1, w["weight"], w["bias"]);
}

Tensor layer(const Weights& w, const weft::TnnConfig& config, const Tensor& x,
             bool causal) {
  const Tensor mixed =
      x + gtu(w.of("token_mixer"), config, norm(w.of("token_norm"), x), causal);
  return mixed + glu(w.of("feature_mixer"), norm(w.of("feature_norm"), mixed));
}

STEP("The layer") {
  for (const bool causal : {true, false}) {
    print("%s:", causal ? "causal" : "bidirectional");
    const weft::TnnLayer library(6, small_config(), causal, in_f64(6));
    const Weights w(weft::parameters_of(library));
    expect_same_gradients(
        [&](const Tensor& x) { return layer(w, small_config(), x, causal); },
        [&](const Tensor& x) { return library(x); }, random({2, 7, 6}, 8), w.all());
  }
}

// ## A language model
//
// A language model reads tokens, here numbers below 8, and predicts the next token at every position. The model looks
// up a row of the embedding for each token, scales it by $\sqrt{d}$, runs the layers and a last norm, and compares the
// result with every row of the embedding. These products are the *logits*. The larger a logit, the more likely the
// token.
constexpr std::int64_t symbols = 8;

Tensor language_model(const Weights& w, const weft::TnnConfig& config,
                      const Tensor& tokens) {
  Tensor x = weft::embedding(tokens, w["embedding.weight"]);  // (b, n, d)
  x = weft::scale(x, std::sqrt(static_cast<double>(config.d_model)));
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = layer(w.of("layers." + std::to_string(i)), config, x, true);
  return weft::linear(norm(w.of("norm"), x), w["embedding.weight"]);  // (b, n, symbols)
}

// The task shows what a filter by distance can do. Each sequence begins with five random tokens and then repeats them,
// so every token is the same as the token five places before it. Sequences have different tokens, so the model must
// learn the distance instead of the tokens.
constexpr std::int64_t period = 5;

std::vector<std::int64_t> repeating(std::int64_t sequences, std::int64_t length,
                                    std::uint64_t stream) {
  const weft::Random random(9, stream);
  std::vector<std::int64_t> tokens;
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t i = 0; i < length; ++i)
      tokens.push_back(static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(s * period + i % period),
                       static_cast<std::uint64_t>(symbols))));
  return tokens;
}

// A batch of inputs, and of the tokens that follow them. The first five tokens cannot be predicted, so the loss does not
// count them: the target -100 means "ignore".
struct Batch {
  Tensor input, target;  // (b, n)
};

Batch batch(std::int64_t sequences, std::int64_t n, std::uint64_t stream) {
  const std::vector<std::int64_t> all = repeating(sequences, n + 1, stream);
  std::vector<std::int64_t> input, target;
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(s * (n + 1) + i);
      input.push_back(all[at]);
      target.push_back(i + 1 < period ? -100 : all[at + 1]);
    }
  return {Tensor::from(input, {sequences, n}), Tensor::from(target, {sequences, n})};
}

// From here on we use the library's model. `make_model` makes a model by the name of its architecture, with its config
// as JSON.
weft::TnnConfig model_config() {
  weft::TnnConfig config;
  config.d_model = 16;
  config.layers = 1;
  config.rpe_dim = 16;
  config.rpe_layers = 1;
  config.gamma = 0.95;
  return config;
}

std::unique_ptr<weft::Model> make_language_model() {
  weft::ModelSpec spec;
  spec.arch = "tnn";
  spec.vocabulary = symbols;
  spec.config = weft::config_to_json(model_config());
  return weft::make_model(spec, in_f64(10));
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
// Training repeats four lines: run the model on a batch while a tape records, compute the loss, walk the tape back for
// the gradients, and let the optimizer change the parameters. The loss is the cross entropy in nats. A model that knows
// nothing has a loss of $\ln 8 = 2.08$. A model that always knows the next token has a loss of 0.
double train_step(const weft::Model& model, weft::Optimizer& optimizer,
                  std::int64_t step) {
  const Batch data = batch(16, 32, static_cast<std::uint64_t>(step));
  optimizer.parameters().zero_gradients();
  weft::Tape tape;
  const Tensor loss = weft::cross_entropy(model(data.input), data.target);
  tape.backward(loss, optimizer.parameters());
  optimizer.step(step, 5e-3);
  return loss.item();
}

// For the steps below, we keep the trained model, and the mean size of its coefficients before and after training. To
// predict token $i + 1$, which equals token $i - 4$, the model must look four places back.
struct Trained {
  std::unique_ptr<weft::Model> model = make_language_model();
  std::vector<double> losses;
  Numbers before, after;  // mean |t_k| of all channels, k = 0 … 15
};

Numbers mean_coefficients(const weft::Model& model) {
  const Weights w(model.parameters());
  const Tensor t = coefficients(w.of("layers.0.token_mixer.toep"), model_config(),
                                column_of_lags(0, 16))
                       .detach();
  const Tensor size = weft::sqrt(weft::square(t));
  return weft::mean(size, {1}).to_vector<double>();
}

const Trained& trained() {
  static const Trained result = [] {
    Trained run;
    run.before = mean_coefficients(*run.model);
    weft::Optimizer optimizer(run.model->parameters(), {});
    for (std::int64_t step = 1; step <= 300; ++step)
      run.losses.push_back(train_step(*run.model, optimizer, step));
    run.after = mean_coefficients(*run.model);
    return run;
  }();
  return result;
}

STEP("Training") {
  const std::vector<double>& losses = trained().losses;
  print("plot: Loss in training | step | nats per token");
  print("step, loss");
  for (std::size_t step = 0; step < losses.size(); step += 10)
    print("%zu, %.3f", step + 1, losses[step]);
  print("%s", "");
  expect("the last loss is below a tenth of the first",
         losses.back() < losses.front() / 10);
}

// What has the model learned? The mean size of the coefficients over all channels shows it: lag 4 has the largest
// coefficients.
STEP("What it learned") {
  print(
      "plot: Mean size of the coefficients | lag | mean absolute value over all "
      "channels");
  print("lag, before training, after training");
  for (std::size_t k = 0; k < 16; ++k)
    print("%zu, %.4f, %.4f", k, trained().before[k], trained().after[k]);
  print("%s", "");
  std::size_t largest = 0;
  for (std::size_t k = 0; k < 16; ++k)
    if (trained().after[k] > trained().after[largest]) largest = k;
  expect("lag 4 has the largest coefficients", largest == 4);
}

// ## Longer than it was trained on
//
// The model was trained on sequences of 32 tokens. No parameter of the model has that size, and [the
// decay](#exponential-decay) keeps the coefficients of lags beyond 32 small. So it can run on longer sequences (section
// 3.4 and the experiments of section 4). We measure the loss in groups of 16 positions of sequences with 256 tokens.
STEP("Longer than it was trained on") {
  const std::int64_t n = 256, sequences = 8;
  const Batch data = batch(sequences, n, 1000000);
  const Tensor logits = (*trained().model)(data.input);
  print("plot: Loss by position; training ended at 32 | position | nats per token");
  print("position, loss");
  double worst = 0;
  for (std::int64_t at = 0; at < n; at += 16) {
    const Tensor loss = weft::cross_entropy(weft::slice(logits, 1, at, at + 16),
                                            weft::slice(data.target, 1, at, at + 16));
    worst = std::max(worst, loss.item());
    print("%lld, %.3f", static_cast<long long>(at + 8), loss.item());
  }
  print("%s", "");
  expect("the loss stays below 1 nat at all positions", worst < 1);
}

// ## Token by token
//
// A language model writes by predicting a token, appending it, and predicting the next one. `Model::stream` does not
// repeat the forward pass for each token. It computes the products in squares, as `Online` does in
// [Toeplitz products](toeplitz.cpp). In `Online`, most tokens take little time, but some take much: token $2^k - 1$ waits
// for a square of $2^k$ rows. In the library's stream, the positions to which a square of size $s$ contributes begin at least
// $s$ positions, one whole block, after the square's last token. The stream computes the square in small pieces while the
// tokens of this block arrive, so no token waits long.
// [The streaming convolution](../../models/design/streaming.md) describes it. The logits are the same as those of a
// forward pass over the text so far:
STEP("Token by token, the whole model") {
  const weft::Model& model = *trained().model;
  const std::int64_t n = 200;
  const Tensor tokens = batch(1, n, 2000000).input;
  const Tensor all = model(tokens);  // (1, n, symbols)
  const auto stream = model.stream();
  const std::vector<std::int64_t> ids = tokens.to_vector<std::int64_t>();
  std::vector<Tensor> rows;
  for (const std::int64_t id : ids)
    rows.push_back(weft::reshape(stream->next(id), {1, 1, symbols}));
  expect_same("logits of the stream and of the forward pass", weft::concat(rows, 1),
              all);
}

// The stream's time for a token hardly grows, while the time of a forward pass grows with the length of the text:
STEP("Time of a token") {
  const weft::Model& model = *trained().model;
  print("plot: Time of the next token | tokens so far log | time in µs log");
  print("tokens, forward pass, stream");
  for (std::int64_t n = 64; n <= 2048; n *= 2) {
    const Tensor tokens = batch(1, n, 3000000).input;
    const double forward = microseconds([&] { (void)model(tokens); });
    const auto stream = model.stream();
    (void)stream->append(tokens);
    std::int64_t next = 0;
    const double one = microseconds([&] { (void)stream->next(next++ % symbols); });
    print("%lld, %.0f, %.1f", static_cast<long long>(n), forward, one);
  }
}

// ## Exercises
//
// 1. Set `gamma` to 1 in `model_config`. How does the loss change beyond position 32, and why?
// 2. Change the task: each token is the sum, modulo 8, of the tokens 3 and 5 places before. Does one layer suffice?
//    Which part of the layer must compute the sum?
// 3. FNet's mixing is not a Toeplitz matrix. Print the matrix of its transform along the tokens for $n = 4$, and find
//    the rule for its elements. What does a TNN gain by depending on $i - j$ only?

}  // namespace
