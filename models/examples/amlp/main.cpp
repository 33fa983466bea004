// Registers a custom architecture, trains it on a text in memory, saves it, loads it, evaluates it and generates a
// sample.
//   amlp FOLDER    the folder for the checkpoints
#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/generate.h>
#include <weft/trainer.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "../check.h"
#include "amlp.h"

namespace {

using weft::Tensor;

constexpr std::int64_t length = 32, batch = 8, steps = 80;

// Lines like "3 plus 5 is 8". Each sum of two numbers below 20 occurs once. The order looks random, but is always the
// same.
std::string sums() {
  std::string text;
  for (int k = 0; k < 400; ++k) {
    const int a = k * 171 % 400 / 20, b = k * 171 % 20;
    text += std::to_string(a) + " plus " + std::to_string(b) + " is " + std::to_string(a + b) + "\n";
  }
  return text;
}

// Trains a new model on `threads` threads and saves it.
std::unique_ptr<weft::Model> train(const weft::TextData& data, int d_attn, bool toeplitz, int threads,
                                   const std::string& folder) {
  weft::Context context;
  context.set_threads(threads);
  const weft::ContextScope scope(context);

  const std::string config = R"({"d_model":32,"d_ffn":128,"d_attn":)" + std::to_string(d_attn) +
                             R"(,"layers":2,"seq_len":32,"toeplitz":)" + (toeplitz ? "true" : "false") + "}";
  const weft::ModelSpec spec = {"amlp", weft::Task::causal_lm, data.tokenizer()->size(), 0, config};
  std::unique_ptr<weft::Model> model = weft::make_model(spec, {weft::Random(1)});
  check(model->config() == config, "the model has the config that was passed");
  model->set_recompute(threads == 2);  // uses less memory, gives the same bits
  const double before = weft::evaluate(*model, data).loss;

  weft::TrainOptions options;
  options.schedule.steps = steps;
  options.schedule.warmup = 10;
  options.schedule.peak = 1e-2;
  weft::Trainer trainer(*model, data, options);
  while (trainer.steps_done() < steps) trainer.step();

  const double after = weft::evaluate(*model, data).loss;
  std::printf("loss before and after %d steps, threads %d: %.3f %.3f nats\n", int(steps), threads, before, after);
  check(after < before / 2, "the loss falls");
  weft::save_checkpoint(folder, *model, *data.tokenizer(), {steps, after, length});
  return model;
}

// The logits of one text.
Tensor logits(const weft::Model& model, const weft::Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  return model(Tensor::from(ids, {1, static_cast<std::int64_t>(ids.size())}));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector<float>() == b.to_vector<float>();
}

bool same_parameters(const weft::Model& a, const weft::Model& b) {
  const weft::NamedParameters of_a = a.parameters(), of_b = b.parameters();
  bool same = of_a.size() == of_b.size();
  for (std::size_t i = 0; same && i < of_a.size(); ++i)
    same = of_a[i].first == of_b[i].first && same_bits(of_a[i].second.value(), of_b[i].second.value());
  return same;
}

// How much the logits of "12 plus 7" change at most if the text after it changes.
float seen_of_the_future(const weft::Model& model, const weft::Tokenizer& tokenizer) {
  const std::vector<float> a = weft::slice(logits(model, tokenizer, "12 plus 7 is 19"), 1, 0, 9).to_vector<float>();
  const std::vector<float> b = weft::slice(logits(model, tokenizer, "12 plus 7\n5 plu"), 1, 0, 9).to_vector<float>();
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

void run(const std::string& folder) {
  weft::register_architecture(amlp::Amlp::architecture());
  const std::string text = sums();
  const auto tokenizer = weft::text_tokenizer(text, weft::Task::causal_lm);
  const weft::TextData data(text, tokenizer, weft::Task::causal_lm, length, batch);

  constexpr struct {
    int d_attn;
    bool toeplitz;
  } cases[] = {{16, false}, {16, true}, {0, false}, {0, true}};
  for (const auto& [d_attn, toeplitz] : cases) {
    std::printf("%s, %s spatial weights\n", d_attn > 0 ? "aMLP" : "gMLP", toeplitz ? "Toeplitz" : "dense");
    const auto model = train(data, d_attn, toeplitz, 1, folder);
    check(same_parameters(*model, *train(data, d_attn, toeplitz, 2, folder)), "the same bits on one thread and on two");

    const weft::Checkpoint saved = weft::load_checkpoint(folder, weft::Purpose::inference);
    check(saved.model->config() == model->config() && saved.info.step == steps, "loaded: the same config and step");
    check(same_bits(logits(*saved.model, *saved.tokenizer, "12 plus 7 is"), logits(*model, *tokenizer, "12 plus 7 is")),
          "loaded: the same logits");
    check(weft::evaluate(*saved.model, data).loss == saved.info.validation_loss, "loaded: the same validation loss");

    // Fourier transforms cancel the influence of later tokens only to about 1e-7 of the sums, not exactly to 0.
    const float seen = seen_of_the_future(*saved.model, *saved.tokenizer);
    check(toeplitz ? seen < 1e-4f : seen == 0, "a token's logits don't depend on those after it");

    weft::GenerateOptions options;
    options.tokens = 40;
    options.temperature = 0;  // always the most likely symbol
    std::string sample;
    weft::generate(*saved.model, *saved.tokenizer, "12 plus 7", options, [&](const std::string& symbol) {
      sample += symbol;
      return true;
    });
    std::printf("12 plus 7%s\n", sample.c_str());
    check(sample.size() == 40, "a sample of 40 symbols");

    model->set_precision(weft::Precision::bf16);
    const double rounded = weft::evaluate(*model, data).loss, exact = saved.info.validation_loss.value_or(0);
    check(std::abs(rounded - exact) < 0.02 * exact + 0.01, "nearly the same loss in bf16");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: amlp FOLDER\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "amlp: %s\n", error.what());
    return 1;
  }
}
