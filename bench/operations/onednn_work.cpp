#include "operations/dense_work.h"

#if WEFT_BENCH_ONEDNN
#include <dnnl.h>
#include <omp.h>

namespace weft::bench {

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::string onednn_isa() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2 with VNNI";
    case dnnl_cpu_isa_avx512_core: return "avx512";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512 with VNNI";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512bf16";
    default: return "an unknown instruction set";
  }
}

// The product C (b, n), a sum over d. Matrices are row-major, and each call writes to the same C.
Work onednn_work(const std::string& kind, const Sizes& s, int threads) {
  const bool is_nn = kind == "gemm-nn", is_tn = kind == "gemm-tn";
  if (!is_nn && !is_tn && kind.rfind("gemm-nt", 0) != 0 && kind != "linear") return {};
  const Tensor a = normal(is_tn ? Shape{s.d, s.b} : Shape{s.b, s.d}, 0);
  const auto b = is_nn || is_tn ? std::make_shared<Weights>(Weights{{normal({s.d, s.n}, 1)}}) : weights_of(kind, s);
  const char trans_a = is_tn ? 'T' : 'N', trans_b = is_nn || is_tn ? 'N' : 'T';
  Work w{{}, dense_flops(s), dense_bytes(s)};
  w.run = [=, c = Tensor::zeros({s.b, s.n})]() mutable {
    omp_set_num_threads(threads);
    dnnl_sgemm(trans_a, trans_b, s.b, s.n, s.d, 1, a.data<float>(), is_tn ? s.b : s.d, b->next().data<float>(),
               trans_b == 'T' ? s.d : s.n, 0, c.mutable_data<float>(), s.n);
  };
  return w;
}

}  // namespace weft::bench

#else

namespace weft::bench {

std::string onednn_version() { return {}; }
std::string onednn_isa() { return {}; }
Work onednn_work(const std::string&, const Sizes&, int) { return {}; }

}  // namespace weft::bench
#endif
