#include "weft/embed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/sequence.h"
#include "data/labels.h"
#include "rows/row_reader.h"
#include "weft/context.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/pair_data.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<Pooling> {
  static constexpr const char* what = "pooling";
  static constexpr EnumName<Pooling> all[] = {{Pooling::mean, "mean"}, {Pooling::first, "first"}};
};

}  // namespace detail

const char* pooling_name(Pooling pooling) noexcept { return enum_name(pooling); }

Pooling pooling_from_name(const std::string& name) { return enum_from_name<Pooling>(name); }

std::vector<std::string> poolings() { return enum_names<Pooling>(); }

namespace {

// Throws an Error unless the features of the first token represent the whole text.
void check_first_token(const Model& model) {
  const auto config = nlohmann::json::parse(model.config());
  const bool has_layers = config.value("layers", nlohmann::json()) != 0;
  const bool is_causal = task_kind(model.task()).causal || config.value("causal", nlohmann::json()) == true;
  const char* why = model.task() == Task::retrieval ? "a model of the task retrieval already outputs one vector"
                    : is_causal                     ? "the first token of a causal model sees no other token"
                    : !has_layers                   ? "the first token of a model without layers sees no other token"
                                                    : nullptr;
  if (why != nullptr) throw Error(std::string("[embed] expected the pooling mean, got first: ") + why);
}

}  // namespace

Embedder::Embedder(Checkpoint checkpoint, Pooling pooling)
    : Embedder(std::make_shared<const Checkpoint>(std::move(checkpoint)), pooling) {}

Embedder::Embedder(std::shared_ptr<const Checkpoint> checkpoint, Pooling pooling)
    : checkpoint_(std::move(checkpoint)), pooling_(pooling) {
  const Model& model = *checkpoint_->model;
  if (model.vocabulary() == 0 || model.input().defined())
    throw Error("[embed] expected a model that reads texts, got one that reads numbers");
  if (pooling == Pooling::first) check_first_token(model);
  const NoGrad suspended;
  const std::int64_t length = std::max<std::int64_t>(checkpoint_->info.pad_to, 1);
  dimensions_ = pooled(Tensor::full({1, length}, static_cast<double>(model.vocabulary() - 1), DType::i64)).size(-1);
}

// Returns the vector (1, d) of the tokens (1, n) of a text.
Tensor Embedder::pooled(const Tensor& tokens) const {
  const Model& model = *checkpoint_->model;
  if (model.task() == Task::retrieval) return model(tokens);
  const Tensor features = model.features(tokens);  // (1, n, d)
  if (pooling_ == Pooling::mean) return mean_of_tokens(features, tokens);
  return reshape(slice(features, 1, 0, 1), {1, features.size(2)});
}

// Rows of Task::retrieval are padded as in training.
Tensor Embedder::vector_of(const std::string& text) const {
  const NoGrad suspended;
  const Model& model = *checkpoint_->model;
  const CheckpointInfo& info = checkpoint_->info;
  if (const WrongBytes wrong = wrong_bytes(text, 0); !wrong.what.empty())
    throw Error("[embed] " + wrong.what + "; expected a text in UTF-8 without zero bytes");
  const std::int64_t longest = info.pad_to > 0   ? info.pad_to
                               : info.length > 0 ? info.length
                                                 : std::max<std::int64_t>(model.max_length(), 0);
  const Tensor tokens = encode_rows(*checkpoint_->tokenizer, {text}, longest, info.pad_to, truncated_.get());
  return reshape(raw::convert(normalized(pooled(tokens)), DType::f32), {-1});
}

Tensor Embedder::operator()(const std::vector<std::string>& texts) const {
  return guard_memory("embed", [&] {
    if (texts.empty()) return Tensor::zeros({0, dimensions_}, DType::f32);
    std::vector<Tensor> vectors(texts.size());
    Context::current().parallel_for(std::ssize(texts), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        vectors[i] = reshape(vector_of(texts[i]), {1, -1});
    });
    return concat(vectors, 0);
  });
}

namespace {

bool is_nearer(const Neighbor& a, const Neighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.index < b.index;
}

// Returns the `top` highest of the similarities with the indices from `begin` to `end` - 1, as a heap whose first
// element is the lowest of them.
std::vector<Neighbor> highest(const float* similarity, std::int64_t begin, std::int64_t end, std::int64_t top) {
  std::vector<Neighbor> heap;
  float lowest = 0;  // the heap's lowest similarity, once the heap is full
  for (std::int64_t i = begin; i < end; ++i) {
    const bool full = std::ssize(heap) == top;
    if (full && !(similarity[i] > lowest)) continue;  // NaN, too; of equal similarities, the first one is kept
    if (full) {
      std::pop_heap(heap.begin(), heap.end(), is_nearer);
      heap.pop_back();
    }
    const float own = std::isnan(similarity[i]) ? -std::numeric_limits<float>::infinity() : similarity[i];
    heap.push_back({i, static_cast<double>(own)});
    std::push_heap(heap.begin(), heap.end(), is_nearer);
    lowest = static_cast<float>(heap.front().similarity);
  }
  return heap;
}

// Returns the `top` highest of n similarities, the nearest first. Each thread searches some parts of the rows.
std::vector<Neighbor> highest(const float* similarity, std::int64_t n, std::int64_t top) {
  constexpr std::int64_t part = 1 << 15;
  std::vector<std::vector<Neighbor>> parts(static_cast<std::size_t>((n + part - 1) / part));
  Context::current().parallel_for(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      parts[static_cast<std::size_t>(i)] = highest(similarity, i * part, std::min(n, (i + 1) * part), top);
  });
  std::vector<Neighbor> all;
  for (const std::vector<Neighbor>& of_part : parts) all.insert(all.end(), of_part.begin(), of_part.end());
  const std::int64_t count = std::min<std::int64_t>(std::ssize(all), top);
  std::partial_sort(all.begin(), all.begin() + count, all.end(), is_nearer);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace

std::vector<Neighbor> nearest(const Tensor& vectors, const Tensor& query, std::int64_t top) {
  return guard_memory("nearest", [&] {
    if (!vectors.defined() || !query.defined() || vectors.rank() != 2 || query.rank() != 1 ||
        vectors.size(1) != query.size(0) || top < 1)
      throw Error("[nearest] expected vectors (n, d), a query (d) and at least 1 neighbor, got " +
                  (vectors.defined() ? to_string(vectors.shape()) : "none") + ", " +
                  (query.defined() ? to_string(query.shape()) : "none") + " and " + std::to_string(top));
    const NoGrad suspended;
    if (vectors.size(0) == 0) return std::vector<Neighbor>();
    const Tensor similarity = raw::convert(row_products(vectors, raw::convert(query, vectors.dtype())), DType::f32);
    return highest(similarity.data<float>(), vectors.size(0), top);
  });
}

}  // namespace weft
