// FNet's embeddings, encoder layer, pooler and encoder (arXiv 2105.03824, section 3 and figure 1).
#include <cmath>
#include <utility>

#include "base/sequence.h"
#include "weft/detail/enum_names.h"
#include "weft/fnet.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<NormPlace> {
  static constexpr const char* what = "norm place";
  static constexpr EnumName<NormPlace> all[] = {{NormPlace::pre, "pre"}, {NormPlace::post, "post"}};
};

template <>
struct detail::EnumNames<FnetEmbeddingsKind> {
  static constexpr const char* what = "fnet embeddings";
  static constexpr EnumName<FnetEmbeddingsKind> all[] = {{FnetEmbeddingsKind::bert, "bert"},
                                                         {FnetEmbeddingsKind::sinusoidal, "sinusoidal"},
                                                         {FnetEmbeddingsKind::plain, "plain"}};
};

NormPlace norm_place_from_name(const std::string& name) { return enum_from_name<NormPlace>(name); }
FnetEmbeddingsKind fnet_embeddings_from_name(const std::string& name) {
  return enum_from_name<FnetEmbeddingsKind>(name);
}

namespace {

constexpr double deviation = 0.02;  // standard deviation of the initial embeddings, as in BERT

double word_deviation(FnetEmbeddingsKind kind, std::int64_t d_model) {
  return kind == FnetEmbeddingsKind::bert ? deviation : 1 / std::sqrt(static_cast<double>(d_model));
}

FnetEmbeddingsKind kind_of_embeddings(const FnetConfig& config, const InputSpec& input) {
  return input.positions == "architecture" ? fnet_embeddings_from_name(config.embeddings) : FnetEmbeddingsKind::plain;
}

}  // namespace

FnetLayer::FnetLayer(std::int64_t d_model, std::int64_t d_ffn, NormPlace norm_place, const Init& init, double eps,
                     double p, Activation act, const PatchGrid& patches)
    : mixing_norm(d_model, init, eps),
      proj1(d_model, d_ffn, init.child(0)),
      proj2(d_ffn, d_model, init.child(1)),
      output_norm(d_model, init, eps),
      place(norm_place),
      activation(act),
      dropout(p),
      grid(patches) {}

// Re(FFT_n(FFT_d(x))). With a grid, x is (b, rows · columns, d), and the result is Re(FFT_rows(FFT_columns(FFT_d(x)))).
Tensor FnetLayer::mix(const Tensor& x) const {
  if (!grid.defined()) return fourier_mix(x, 1, 2);
  const Tensor picture = reshape(widened(x), {x.size(0), grid.rows, grid.columns, x.size(2)});
  return in_dtype(reshape(real(fft(fft2(picture, 2, 3), 1)), x.shape()), x.dtype());
}

// post: x = mixing_norm(x + mix(x));  x = output_norm(x + dropout(ffn(x)))
// pre:  x = x + mix(mixing_norm(x));  x = x + dropout(ffn(output_norm(x)))
Tensor FnetLayer::operator()(const Tensor& x, const Random* random) const {
  const auto ffn = [&](const Tensor& v) {
    return dropout(proj2(proj1(v, activation)), random);  // (b, n, d_ffn) -> (b, n, d_model)
  };
  if (place == NormPlace::post) {
    const Tensor mixed = mixing_norm(mix(x), x);
    return output_norm(ffn(mixed), mixed);
  }
  const Tensor mixed = add(x, mix(mixing_norm(x)));
  return add(mixed, ffn(output_norm(mixed)));
}

// The tables of positions and types are not quantized, because they are small, and because slice() reads them directly.
FnetEmbeddings::FnetEmbeddings(std::int64_t vocabulary, std::int64_t seq_len, std::int64_t types, std::int64_t d_model,
                               const Init& init, double eps, FnetEmbeddingsKind kind)
    : word(vocabulary == 0 ? Embedding()
                           : Embedding(vocabulary, d_model, init.child(0), word_deviation(kind, d_model))),
      seq_len_(seq_len) {
  if (kind == FnetEmbeddingsKind::sinusoidal) positions_ = std::make_shared<SinusoidalPositions>(seq_len, d_model);
  if (kind != FnetEmbeddingsKind::bert) return;
  learned.emplace(Learned{Embedding(seq_len, d_model, init.child(1), deviation),
                          Embedding(types, d_model, init.child(2), deviation), LayerNorm(d_model, init, eps),
                          Linear(d_model, d_model, init.child(3))});
  for (Parameter* added : {&learned->position.weight, &learned->type.weight}) added->set_quantizable(false);
}

// (b, n, d_model)
Tensor FnetEmbeddings::operator()(const Tensor& tokens, const Tensor& types, Precision precision) const {
  check_tokens("fnet", tokens, seq_len_);
  return around(words(tokens), types, precision);
}

Tensor FnetEmbeddings::words(const Tensor& tokens) const {
  const Tensor x = word(tokens);
  return learned ? x : scale(x, std::sqrt(static_cast<double>(x.size(-1))));
}

// Returns projection(norm(x + positions + types)) for the kind bert, and x + positions for the other kinds.
Tensor FnetEmbeddings::around(const Tensor& x, const Tensor& types, Precision precision) const {
  const std::int64_t n = x.size(1);
  if (!learned) {
    if (types.defined()) throw Error("[fnet] only embeddings of the kind bert support token types");
    return in_precision(positions_ ? add(x, (*positions_)(0, n, x.dtype())) : x, precision);
  }
  const Tensor places = slice(learned->position.weight, 0, 0, n);  // (n, d_model)
  const Tensor kinds = types.defined() ? learned->type(types) : slice(learned->type.weight, 0, 0, 1);
  return learned->projection(learned->norm(in_precision(add(x, add(places, kinds)), precision)));
}

// tanh(dense(x_0))
Tensor FnetPooler::operator()(const Tensor& x) const {
  const Tensor first = reshape(slice(x, 1, 0, 1), {x.size(0), x.size(2)});  // (b, d_model)
  return dense(first, Activation::tanh);
}

FnetEncoder::FnetEncoder(const FnetConfig& config, std::int64_t vocabulary, const Init& init, const InputSpec& input)
    : embeddings(vocabulary, config.seq_len, config.types, config.d_model, init.child(0), config.eps,
                 kind_of_embeddings(config, input)),
      dropout(config.dropout) {
  if (input.defined()) frames.emplace(input, config.d_model, init.child(frames_child));
  const NormPlace place = norm_place_from_name(config.norm);
  const PatchGrid grid = mixing_grid("fnet", config.mixing, input);
  for (std::int64_t i = 0; i < config.layers; ++i)
    layers.emplace_back(config.d_model, config.ffn_channels(), place, init.child(static_cast<std::uint64_t>(1 + i)),
                        config.eps, config.dropout, activation_from_name(config.activation), grid);
  if (place == NormPlace::pre) final_norm_.emplace(config.d_model, init, config.eps);
}

Tensor FnetEncoder::operator()(const Tensor& tokens, const Tensor& types, const Random* random, Precision precision,
                               bool recompute) const {
  return (*this)(ModelInput{tokens, {}}, types, random, precision, recompute);
}

// Returns the embedding of tokens or of frames, or the sum of both.
Tensor FnetEncoder::embed(const ModelInput& input, const Tensor& types, Precision precision) const {
  if (!frames) return embeddings(input.tokens, types, precision);
  const Tensor x = (*frames)(input.frames);
  return embeddings.around(input.tokens.defined() ? add(x, embeddings.words(input.tokens)) : x, types, precision);
}

// x = embed(input, types);  x = layer(x) for each layer;  norm(x) if the layers are pre-norm. (b, n, d_model)
Tensor FnetEncoder::operator()(const ModelInput& input, const Tensor& types, const Random* random, Precision precision,
                               bool recompute) const {
  const Random embedding_random = random ? random->split(0) : Random(0);
  Tensor x = dropout(embed(input, types, precision), random ? &embedding_random : nullptr);
  x = through_layers(
      layers, std::move(x), random, 1, recompute,
      [](const FnetLayer& layer, const Tensor& in, const Random* layer_random) { return layer(in, layer_random); });
  return final_norm_ ? (*final_norm_)(x) : x;
}

}  // namespace weft
