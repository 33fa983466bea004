#include "golden.h"
#include "weft/gmlp.h"

namespace weft::golden {
namespace {

Tensor optional_mask(Case& c) { return c.has("in.mask") ? c.constant("mask") : Tensor(); }

const Kind sgu{"spatial_gating_unit", [](Case& c) {
                 c.expect_keys({"d_z", "seq_len"});
                 const SpatialGatingUnit unit(c.config<std::int64_t>("d_z"), c.config<std::int64_t>("seq_len"),
                                              {Random(0), c.dtype()});
                 NamedParameters parameters;
                 unit.collect("", parameters);
                 c.load(parameters);
                 return unit.tokens_first(c.input("z"), optional_mask(c));
               }};

const Kind block{"gmlp_block", [](Case& c) {
                   c.expect_keys({"d_model", "d_ffn", "seq_len"});
                   const GmlpBlock gmlp(c.config<std::int64_t>("d_model"), c.config<std::int64_t>("d_ffn"),
                                        c.config<std::int64_t>("seq_len"), {Random(0), c.dtype()});
                   NamedParameters parameters;
                   gmlp.collect("", parameters);
                   c.load(parameters);
                   return gmlp.tokens_first(c.input("x"), optional_mask(c));
                 }};

}  // namespace
}  // namespace weft::golden
