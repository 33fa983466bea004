// Golden kinds: einsum, linear.
#include "golden.h"

namespace weft::golden {
namespace {

const Kind einsum_kind{"einsum", [](Case& c) {
                         c.expect_keys({"equation"});
                         std::vector<Tensor> operands;
                         while (c.has("in." + std::to_string(operands.size())))
                           operands.push_back(c.input(std::to_string(operands.size())));
                         return einsum(c.config<std::string>("equation"), operands);
                       }};

const Kind linear_kind{"linear", [](Case& c) {
                         c.expect_keys({});
                         return linear(c.input("x"), c.parameter("weight"), c.parameter("bias"));
                       }};

}  // namespace
}  // namespace weft::golden
