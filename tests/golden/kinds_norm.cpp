// Golden kinds: layer_norm, embedding, optimizer.
#include "golden.h"
#include "weft/update_rules.h"

namespace weft::golden {
namespace {

const Kind layer_norm_kind{
    "layer_norm", [](Case& c) {
      c.expect_keys({"normalized_shape", "eps"});
      const auto normalized = c.config<std::vector<std::int64_t>>("normalized_shape");
      const auto axes = static_cast<std::int64_t>(normalized.size());
      const Tensor x = c.input("x");
      if (axes > x.rank() || Shape(x.shape().end() - axes, x.shape().end()) != normalized)
        throw Refused("in.x has shape " + to_string(x.shape()) + ", normalized_shape is " + to_string(normalized));
      return layer_norm(x, axes, c.parameter("weight"), c.parameter("bias"), c.config<double>("eps"));
    }};

const Kind embedding_kind{"embedding", [](Case& c) {
                            c.expect_keys({});
                            return embedding(c.integers("indices"), c.parameter("weight"));
                          }};

// One step with the gradient g, which is a slice of in.grads.
using Step = std::function<void(Tensor& p, const Tensor& g, std::int64_t step)>;

Step optimizer_named(Case& c) {
  const auto name = c.config<std::string>("name");
  Tensor m = Tensor::zeros(c.raw_tensor("in.param").shape(), c.dtype());
  if (name == "sgd") {
    c.expect_keys({"name", "lr", "momentum", "weight_decay"});
    const SgdOptions options{c.config<double>("lr"), c.config<double>("momentum"), c.config<double>("weight_decay")};
    return [=](Tensor& p, const Tensor& g, std::int64_t step) mutable { sgd(p, g, m, step, options); };
  }
  if (name != "adam" && name != "adamw") throw Refused("unknown optimizer \"" + name + "\"");
  c.expect_keys({"name", "lr", "beta1", "beta2", "eps", "weight_decay"});
  const AdamOptions options{c.config<double>("lr"), c.config<double>("beta1"), c.config<double>("beta2"),
                            c.config<double>("eps"), c.config<double>("weight_decay")};
  const auto rule = name == "adam" ? adam : adamw;
  Tensor v = Tensor::zeros(m.shape(), c.dtype());
  return [=](Tensor& p, const Tensor& g, std::int64_t step) mutable { rule(p, g, m, v, step, options, 1); };
}

const Kind optimizer_kind{"optimizer", [](Case& c) {
                            const Step update = optimizer_named(c);
                            Tensor p = c.constant("param");
                            const Tensor grads = c.constant("grads");
                            Shape row = p.shape();
                            row.insert(row.begin(), 1);
                            std::vector<Tensor> after;
                            for (std::int64_t step = 1; step <= grads.size(0); ++step) {
                              update(p, reshape(slice(grads, 0, step - 1, step), p.shape()), step);
                              after.push_back(reshape(raw::convert(p, p.dtype()), row));
                            }
                            return concat(after, 0);
                          }};

}  // namespace
}  // namespace weft::golden
