#include "operations/ggml_product.h"

#include <weft/error.h>

#if WEFT_BENCH_GGML
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

namespace weft::bench {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using ContextPointer = std::unique_ptr<ggml_context, Deleter<ggml_free>>;
using BufferPointer = std::unique_ptr<ggml_backend_buffer, Deleter<ggml_backend_buffer_free>>;
using BackendPointer = std::unique_ptr<ggml_backend, Deleter<ggml_backend_free>>;

ContextPointer context_for(std::size_t tensors) {
  return ContextPointer(ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
}

// The type of buffer that repacks weights, or the usual one if there is none.
ggml_backend_buffer_type_t repacking_buffer() {
  const auto find = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts"));
  ggml_backend_buffer_type_t* extra = find ? find(ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0)) : nullptr;
  return extra && *extra ? *extra : ggml_backend_cpu_buffer_type();
}

}  // namespace

struct GgmlProduct::State {
  BackendPointer backend{ggml_backend_cpu_init()};
  ContextPointer weights, vectors;
  BufferPointer weight_bytes, vector_bytes;
  ggml_tensor* x = nullptr;
  std::vector<ggml_tensor*> results;
  ggml_cgraph* graph = nullptr;
  std::int64_t bytes = 0;

  std::vector<ggml_tensor*> make_weights(std::size_t count, std::int64_t rows, std::int64_t columns, ggml_type type,
                                         ggml_backend_buffer_type_t buffer) {
    weights = context_for(count);
    std::vector<ggml_tensor*> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(ggml_new_tensor_2d(weights.get(), type, columns, rows));
    weight_bytes.reset(ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), buffer));
    return made;
  }
};

GgmlProduct::GgmlProduct(const std::vector<Tensor>& weights, int bits, int threads)
    : state_(std::make_unique<State>()) {
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  State& s = *state_;
  const std::int64_t rows = weights.front().size(0), columns = weights.front().size(1);
  const ggml_type type = bits == 8 ? GGML_TYPE_Q8_0 : GGML_TYPE_Q4_0;
  ggml_backend_cpu_set_n_threads(s.backend.get(), threads);
  std::vector<ggml_tensor*> matrices = s.make_weights(weights.size(), rows, columns, type, repacking_buffer());
  if (matrices.front()->extra == nullptr)  // there is no other order of this type on this CPU
    matrices = s.make_weights(weights.size(), rows, columns, type, ggml_backend_cpu_buffer_type());
  std::vector<char> quantized(ggml_row_size(type, columns) * static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ggml_quantize_chunk(type, weights[i].data<float>(), quantized.data(), 0, rows, columns, nullptr);
    ggml_backend_tensor_set(matrices[i], quantized.data(), 0, quantized.size());
  }
  s.bytes = static_cast<std::int64_t>(quantized.size() * weights.size());

  s.vectors = context_for(weights.size() + 1);
  s.x = ggml_new_tensor_1d(s.vectors.get(), GGML_TYPE_F32, columns);
  s.graph = ggml_new_graph(s.vectors.get());
  for (ggml_tensor* matrix : matrices) {
    s.results.push_back(ggml_mul_mat(s.vectors.get(), matrix, s.x));
    ggml_build_forward_expand(s.graph, s.results.back());
  }
  s.vector_bytes.reset(ggml_backend_alloc_ctx_tensors(s.vectors.get(), s.backend.get()));
}

GgmlProduct::~GgmlProduct() = default;

void GgmlProduct::run(const Tensor& x) {
  ggml_backend_tensor_set(state_->x, x.raw(), 0, ggml_nbytes(state_->x));
  if (ggml_backend_graph_compute(state_->backend.get(), state_->graph) != GGML_STATUS_SUCCESS)
    throw Error("ggml could not compute the products");
}

Tensor GgmlProduct::first() const {
  Tensor y = Tensor::empty({state_->results.front()->ne[0]}, DType::f32);
  ggml_backend_tensor_get(state_->results.front(), y.mutable_raw(), 0, ggml_nbytes(state_->results.front()));
  return y;
}

std::int64_t GgmlProduct::bytes() const { return state_->bytes; }

}  // namespace weft::bench

#else

namespace weft::bench {

struct GgmlProduct::State {};
GgmlProduct::GgmlProduct(const std::vector<Tensor>&, int, int) { throw Error("this program was built without ggml"); }
GgmlProduct::~GgmlProduct() = default;
void GgmlProduct::run(const Tensor&) {}
Tensor GgmlProduct::first() const { return {}; }
std::int64_t GgmlProduct::bytes() const { return 0; }

}  // namespace weft::bench

#endif
