// The input: an equation and a zero byte, then for each operand one byte for its rank (0 to 3) and one byte for each
// size (0 to 3).
#include "target.h"
#include "weft/ops.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string all = weft::test::text_of(data, size);
  const std::string equation = all.substr(0, all.find('\0'));
  std::vector<weft::Tensor> operands;
  for (std::size_t at = equation.size() + 1; at < size && operands.size() < 4;) {
    weft::Shape shape(data[at++] % 4);
    for (std::int64_t& n : shape) n = at < size ? data[at++] % 4 : 1;
    operands.push_back(weft::Tensor::full(shape, 0.5));
  }
  weft::test::refuses_or_works([&] { weft::einsum(equation, operands); });
  return 0;
}
