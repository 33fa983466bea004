// Checks the attention baseline: it learns sums, a causal model does not see later tokens, query blocks give the same
// results, and a classifier sees all tokens.
//   attention
#include <weft/checkpoint.h>
#include <weft/gradients.h>
#include <weft/ops.h>
#include <weft/tape.h>
#include <weft/trainer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "../check.h"
#include "attention.h"

namespace {

using weft::Tensor;

constexpr std::int64_t length = 32, batch = 8, steps = 100;

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

std::unique_ptr<weft::Model> made(weft::Task task, std::int64_t symbols, int query_block) {
  const std::string config =
      R"({"d_model":32,"heads":4,"layers":2,"seq_len":32,"query_block":)" + std::to_string(query_block) + "}";
  return weft::make_model({"attention", task, symbols, 0, config}, {weft::Random(1)});
}

void train(const weft::TextData& data) {
  const std::unique_ptr<weft::Model> model = made(data.task(), data.tokenizer()->size(), 0);
  const double before = weft::evaluate(*model, data).loss;
  weft::TrainOptions options;
  options.schedule.steps = steps;
  options.schedule.warmup = 10;
  options.schedule.peak = 5e-3;
  weft::Trainer trainer(*model, data, options);
  while (trainer.steps_done() < steps) trainer.step();
  const double after = weft::evaluate(*model, data).loss;
  std::printf("%s: loss before and after %d steps: %.3f %.3f nats\n", weft::task_name(data.task()), int(steps), before,
              after);
  check(after < before / 2, "the loss falls");
}

// A list of the loss, with the tokens themselves as targets, and all its gradients.
std::vector<float> gradients_of(const weft::Model& model, const Tensor& tokens) {
  weft::Tape tape;
  const Tensor loss = weft::cross_entropy(model(tokens), tokens);
  weft::Gradients gradients;
  tape.backward(loss, gradients);
  std::vector<float> all{static_cast<float>(loss.item())};
  for (const auto& [name, parameter] : model.parameters()) {
    const std::vector<float> of = gradients.of(parameter).to_vector<float>();
    all.insert(all.end(), of.begin(), of.end());
  }
  return all;
}

// ‖a - b‖ / ‖b‖
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  check(a.size() == b.size(), "the same number of gradients");
  double of_difference = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    of_difference += std::pow(double(a[i]) - double(b[i]), 2);
    of_b += std::pow(double(b[i]), 2);
  }
  return std::sqrt(of_difference / of_b);
}

void compare_blocks(weft::Task task) {
  const Tensor tokens = Tensor::from<std::int64_t>({1, 5, 2, 2, 6, 3, 0, 4, 1, 1, 3, 5, 2, 0, 6, 4, 4, 2}, {2, 9});
  const auto whole = made(task, 7, 0), blocks = made(task, 7, 4);
  const std::vector<float> expected = gradients_of(*whole, tokens);
  check(difference(gradients_of(*blocks, tokens), expected) < 1e-5, "the same gradients in blocks, up to rounding");
  whole->set_recompute(true);
  check(gradients_of(*whole, tokens) == expected, "the same bits if layers are computed again");

  const Tensor other = Tensor::from<std::int64_t>({1, 5, 2, 2, 6, 6, 6, 0, 2, 1, 3, 5, 2, 0, 1, 2, 3, 0}, {2, 9});
  const auto first = [](const Tensor& logits) { return weft::slice(logits, 1, 0, 5).to_vector<float>(); };
  for (const auto& model : {whole.get(), blocks.get()})
    check((first((*model)(tokens)) == first((*model)(other))) == (task == weft::Task::causal_lm),
          "tokens see later tokens unless the model is causal");
  check((*whole)(tokens).size(1) == 9 && whole->max_length() == 0, "sequences may have any length");
}

// The outputs of a classifier follow from the first token, which sees all others.
void check_classifier() {
  const std::string config = R"({"d_model":32,"heads":4,"layers":2})";
  const auto model = weft::make_model({"attention", weft::Task::classifier, 7, 3, config}, {weft::Random(1)});
  const auto logits = [&](const std::vector<std::int64_t>& tokens) {
    return (*model)(Tensor::from<std::int64_t>(tokens, {1, 4}));
  };
  check(logits({1, 2, 3, 4}).shape() == weft::Shape{1, 3}, "an output for each class");
  check(logits({1, 2, 3, 4}).to_vector<float>() != logits({1, 2, 3, 5}).to_vector<float>(), "all tokens count");
  bool refused = false;
  try {
    logits({1, 2, 3, 0});
  } catch (const weft::Error&) {
    refused = true;
  }
  check(refused, "padded rows are refused");
}

}  // namespace

int main() {
  try {
    weft::register_architecture(attention::Transformer::architecture());
    const std::string text = sums();
    for (const weft::Task task : {weft::Task::causal_lm, weft::Task::masked_lm}) compare_blocks(task);
    check_classifier();
    train({text, weft::text_tokenizer(text, weft::Task::causal_lm), weft::Task::causal_lm, length, batch});
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "attention: %s\n", error.what());
    return 1;
  }
}
