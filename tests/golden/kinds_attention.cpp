// Golden kind: attention_block, the transformer block of examples/attention. The cases in own/ were computed with PyTorch.
#include "examples/attention/attention.h"
#include "golden.h"

namespace weft::golden {
namespace {

const Kind block{"attention_block", [](Case& c) {
                   c.expect_keys({"d_model", "heads", "d_ffn", "causal", "query_block"});
                   const attention::AttentionOptions options{c.config<std::int64_t>("heads"), c.config<bool>("causal"),
                                                             c.config<std::int64_t>("query_block")};
                   const attention::Block made(c.config<std::int64_t>("d_model"), c.config<std::int64_t>("d_ffn"),
                                               options, {Random(0), c.dtype()});
                   NamedParameters parameters;
                   made.collect("", parameters);
                   c.load(parameters);
                   return made(c.input("x"));
                 }};

}  // namespace
}  // namespace weft::golden
