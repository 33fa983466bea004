#include "attention.h"

#include <weft/ops.h>
#include <weft/recompute.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace attention {

using weft::Inputs;
using weft::Tensor;

namespace {

Config checked(Config config) {
  if (config.d_ffn == 0) config.d_ffn = 4 * config.d_model;
  return config;
}

// A mask (rows, columns) for the queries i = first, first + 1, … and all keys j up to the last query: 0 if j <= i, else
// -∞.
Tensor causal_scores(std::int64_t first, std::int64_t rows, weft::DType dtype) {
  const std::int64_t columns = first + rows;
  const Tensor mask = Tensor::zeros({rows, columns}, dtype);
  for (std::int64_t i = 0; i + 1 < rows; ++i) {
    Tensor future = weft::slice(weft::slice(mask, 0, i, i + 1), 1, first + i + 1, columns);
    weft::raw::fill(future, -std::numeric_limits<double>::infinity());
  }
  return mask;
}

// Sinusoidal positions (n, d): sin and cos of p / 10000^(2i/d) in channels 2i and 2i+1.
Tensor positions(std::int64_t n, std::int64_t d, weft::DType dtype) {
  std::vector<double> p;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t channel = 0; channel < d; ++channel) {
      const double exponent = static_cast<double>(channel / 2 * 2) / static_cast<double>(d);
      const double angle = static_cast<double>(i) / std::pow(10000.0, exponent);
      p.push_back(channel % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return weft::raw::convert(Tensor::from(p, {n, d}), dtype);
}

// Attention for the queries first, first + 1, …: q (b, m, h, c), k and v (b, n, h, c) -> (b, m, h, c).
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, std::int64_t first) {
  const double root = std::sqrt(static_cast<double>(q.size(3)));
  Tensor scores = weft::einsum("bihc,bjhc->bhij", {weft::scale(q, 1 / root), k});  // (b, h, m, n)
  if (causal) scores = scores + causal_scores(first, q.size(1), q.dtype());
  return weft::einsum("bhij,bjhc->bihc", {weft::softmax(scores, -1), v});
}

void check_no_padding(const Tensor& tokens) {
  for (const std::int64_t id : tokens.to_vector<std::int64_t>())
    if (id == 0) throw weft::Error("[attention] a classifier needs rows without padding (--pad-to exact)");
}

}  // namespace

SelfAttention::SelfAttention(std::int64_t d, const AttentionOptions& options, const weft::Init& init)
    : options_(options), in_(d, 3 * d, init.child(0)), out_(d, d, init.child(1)) {
  if (options_.heads < 1 || d % options_.heads != 0)
    throw weft::Error("[attention] expected heads that divide " + std::to_string(d) + " channels, got " +
                      std::to_string(options_.heads));
}

// Splits the queries into blocks. In a causal model, a block ignores the keys after its last query. Backward computes
// the scores again (Rabe and Staats 2021, arXiv 2112.05682).
Tensor SelfAttention::operator()(const Tensor& x, const Tensor& residual) const {
  const std::int64_t b = x.size(0), n = x.size(1), d = x.size(2), h = options_.heads;
  const std::vector<Tensor> qkv = weft::chunk(weft::reshape(in_(x), {b, n, 3 * h, d / h}), 3, 2);  // (b, n, h, d/h)
  const std::int64_t block = options_.query_block == 0 ? n : options_.query_block;
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t last = std::min(first + block, n), keys = options_.causal ? last : n;
    const Inputs in{weft::slice(qkv[0], 1, first, last), weft::slice(qkv[1], 1, 0, keys),
                    weft::slice(qkv[2], 1, 0, keys)};
    const auto part = [causal = options_.causal, first](const Inputs& of) {
      return attend(of[0], of[1], of[2], causal, first);
    };
    parts.push_back(block < n ? weft::recompute(part, in) : part(in));
  }
  const Tensor all = parts.size() == 1 ? parts[0] : weft::concat(parts, 1);
  return out_(weft::reshape(all, {b, n, d}), weft::Epilogue::adding(residual));
}

Block::Block(std::int64_t d, std::int64_t d_ffn, const AttentionOptions& options, const weft::Init& init,
             double dropout)
    : norm1_(d, init),
      attention_(d, options, init.child(0)),
      norm2_(d, init),
      linear1_(d, d_ffn, init.child(1)),
      linear2_(d_ffn, d, init.child(2)),
      dropout_(dropout) {}

Tensor Block::operator()(const Tensor& x, const weft::Random* random) const {
  const auto ffn = [this](const Tensor& h, const Tensor& residual) {
    return linear2_(linear1_(h, weft::Activation::gelu), weft::Epilogue::adding(residual));
  };
  if (!random || dropout_.p == 0) {
    const Tensor h = attention_(norm1_(x), x);
    return ffn(norm2_(h), h);
  }
  const weft::Random first = random->split(0), second = random->split(1);
  const Tensor h = x + dropout_(attention_(norm1_(x)), &first);
  return h + dropout_(ffn(norm2_(h), {}), &second);
}

Transformer::Transformer(const weft::ModelSpec& spec, const weft::Init& init)
    : ModelOf(spec, checked(weft::config_from_json<Config>("attention", spec.config))),
      embedding_(spec.vocabulary, config_.d_model, init.child(0), 1 / std::sqrt(static_cast<double>(config_.d_model))),
      norm_(config_.d_model, init) {
  const AttentionOptions options{config_.heads, task_ == weft::Task::causal_lm, config_.query_block};
  for (std::int64_t i = 0; i < config_.layers; ++i)
    blocks_.emplace_back(config_.d_model, config_.d_ffn, options, init.child(static_cast<std::uint64_t>(1 + i)),
                         config_.dropout);
  if (task_ == weft::Task::classifier)
    head_.emplace(config_.d_model, outputs_, init.child(static_cast<std::uint64_t>(1 + config_.layers)));
}

Tensor Transformer::operator()(const Tensor& tokens, const weft::Random* dropout) const {
  weft::check_tokens("attention", tokens, 0);
  const std::int64_t n = tokens.size(1), d = config_.d_model;
  if (head_) check_no_padding(tokens);
  const Tensor embedded = weft::scale(embedding_(tokens), std::sqrt(static_cast<double>(d)));
  Tensor x = weft::in_precision(embedded + positions(n, d, embedded.dtype()), precision());  // (b, n, d)
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::optional<weft::Random> random = dropout ? std::optional(dropout->split(i)) : std::nullopt;
    const auto layer = [&block = blocks_[i], random](const Inputs& in) {
      return block(in[0], random ? &*random : nullptr);
    };
    x = recomputes() ? weft::recompute(layer, {x}) : layer({x});
  }
  if (!head_) return embedding_.logits(norm_(x));                                  // (b, n, vocabulary)
  return (*head_)(norm_(weft::reshape(weft::slice(x, 1, 0, 1), {x.size(0), d})));  // (b, outputs)
}

weft::Architecture Transformer::architecture() {
  return {"attention",
          {weft::Task::causal_lm, weft::Task::masked_lm, weft::Task::classifier},
          weft::config_fields<Config>(),
          weft::make_as<Transformer>};
}

}  // namespace attention
