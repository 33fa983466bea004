// The relative position encoder (arXiv 2305.04749, section 3.3), and the norms that TNN chooses from.
#include "weft/detail/enum_names.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<NormType> {
  static constexpr const char* what = "norm";
  static constexpr EnumName<NormType> all[] = {{NormType::layer_norm, "layernorm"},
                                               {NormType::simple_rms_norm, "simplermsnorm"}};
};

NormType norm_type_from_name(const std::string& name) { return enum_from_name<NormType>(name); }

Norm::Norm(NormType type, std::int64_t d, const Init& init) {
  if (type == NormType::layer_norm) layer_norm_.emplace(d, init);
}

void Norm::collect(const std::string& prefix, NamedParameters& out) const {
  if (layer_norm_) layer_norm_->collect(prefix, out);
}

Rpe::Rpe(std::int64_t outdim, const RpeOptions& options, const Init& init)
    : options_(options),
      pos_proj_(1, options.dim, init.child(0), options.bias),
      out_(make_layer(outdim, init.child(1))) {
  if (options.layers < 0) throw Error("[Rpe] expected layers >= 0, got " + std::to_string(options.layers));
  for (std::int64_t i = 0; i < options.layers; ++i)
    layers_.push_back(make_layer(options.dim, init.child(static_cast<std::uint64_t>(2 + i))));
  pos_proj_.weight.set_quantizable(false);
}

// Its weights are small, and their errors would be those of all coefficients, which are kept: they stay as they are if a
// model is quantised.
Rpe::Layer Rpe::make_layer(std::int64_t out, const Init& init) const {
  Layer layer{Norm(options_.norm_type, options_.dim, init), Linear(options_.dim, out, init, options_.bias)};
  layer.linear.weight.set_quantizable(false);
  return layer;
}

// linear(act(norm(x))) + residual
Tensor Rpe::apply(const Layer& layer, const Tensor& x, const Tensor& residual) const {
  return layer.linear(activation(layer.norm(x), options_.act), Epilogue::adding(residual));
}

Tensor Rpe::operator()(const Tensor& positions) const {
  Tensor x = pos_proj_(positions);  // (k, dim)
  for (const Layer& layer : layers_) x = apply(layer, x, options_.residual ? x : Tensor());
  return apply(out_, x, {});  // (k, outdim)
}

void Rpe::collect(const std::string& prefix, NamedParameters& out) const {
  const auto collect_layer = [&](const Layer& layer, const std::string& name) {
    layer.norm.collect(prefix + name + ".0.", out);
    layer.linear.collect(prefix + name + ".2.", out);
  };
  pos_proj_.collect(prefix + "pos_proj.", out);
  for (std::size_t i = 0; i < layers_.size(); ++i) collect_layer(layers_[i], "layers." + std::to_string(i));
  collect_layer(out_, "out");
}

}  // namespace weft
