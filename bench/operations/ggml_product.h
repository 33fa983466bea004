// Matrix-vector products with quantized weights of ggml, the tensor library of llama.cpp.
#pragma once
#include <weft/tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::bench {

// The products of several matrices with one vector. The weights are repacked for this CPU, as llama.cpp does when it
// loads a model. The activations are f32. ggml quantizes them to 8 bits.
class GgmlProduct {
 public:
  // `weights` are f32 of one shape (out, in), where `in` is a multiple of 32. `bits` is 8 (Q8_0) or 4 (Q4_0).
  GgmlProduct(const std::vector<Tensor>& weights, int bits, int threads);
  ~GgmlProduct();
  // Computes all products with x (in).
  void run(const Tensor& x);
  // The result (out) of the first matrix.
  Tensor first() const;
  // The size of all quantized weights.
  std::int64_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether ggml was found when the program was built.
constexpr bool has_ggml() { return WEFT_BENCH_GGML; }

}  // namespace weft::bench
