// The relative position encoder (arXiv 2305.04749, section 3.3), and the norms that a TNN can use.
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

Rpe::Rpe(std::int64_t outdim, const TnnConfig& options, const Init& init)
    : dim_(options.rpe_dim),
      residual_(options.rpe_residual),
      act_(activation_from_name(options.rpe_act)),
      pos_proj_(options.position_channels(), dim_, init.child(0), options.bias),
      out_(make_layer(outdim, options, init.child(1))) {
  if (options.rpe_layers < 0) throw Error("[Rpe] expected rpe_layers >= 0, got " + std::to_string(options.rpe_layers));
  for (std::int64_t i = 0; i < options.rpe_layers; ++i)
    layers_.push_back(make_layer(dim_, options, init.child(static_cast<std::uint64_t>(2 + i))));
  pos_proj_.weight.set_quantizable(false);
}

// The encoder's weights are not quantized, because they are small and their errors would affect all coefficients.
// Quantization would also save no time, because the coefficients are kept between calls.
Rpe::NormActLinear Rpe::make_layer(std::int64_t out, const TnnConfig& options, const Init& init) const {
  NormActLinear layer{Norm(norm_type_from_name(options.norm_type), dim_, init), Linear(dim_, out, init, options.bias)};
  layer.linear.weight.set_quantizable(false);
  return layer;
}

// linear(act(norm(x))) + residual
Tensor Rpe::apply(const NormActLinear& layer, const Tensor& x, const Tensor& residual) const {
  return layer.linear(activation(layer.norm(x), act_), Epilogue::adding(residual));
}

Tensor Rpe::operator()(const Tensor& positions) const {
  Tensor x = pos_proj_(positions);  // (k, dim)
  for (const NormActLinear& layer : layers_) x = apply(layer, x, residual_ ? x : Tensor());
  return apply(out_, x, {});  // (k, outdim)
}

}  // namespace weft
