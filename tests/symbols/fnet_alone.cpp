// A program that only runs FNet.
#include <weft/fnet.h>

int main() {
  weft::ModelSpec spec;
  spec.arch = "fnet";
  spec.task = weft::Task::classifier;
  spec.vocabulary = 9;
  spec.classes = 2;
  spec.config = R"({"d_model": 8, "layers": 1})";
  const weft::Fnet model(spec, weft::Init{});
  const weft::Tensor logits = model(weft::Tensor::from(std::vector<std::int64_t>{1, 2, 3}, {1, 3}));
  return logits.shape() == weft::Shape{1, 2} ? 0 : 1;
}
