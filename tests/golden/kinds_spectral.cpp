// Golden kinds: fft, circulant, toeplitz, fnet_mix.
#include "golden.h"

namespace weft::golden {
namespace {

FftNorm norm_named(const std::string& name) {
  if (name == "backward") return FftNorm::backward;
  if (name == "ortho") return FftNorm::ortho;
  if (name == "forward") return FftNorm::forward;
  throw Refused("unknown norm \"" + name + "\"");
}

void check_size(const Tensor& x, std::int64_t dim, std::int64_t size) {
  if (dim < 0 || dim >= x.rank() || x.size(dim) != size)
    throw Refused("in.x has shape " + to_string(x.shape()) + ", not " + std::to_string(size) + " elements along axis " +
                  std::to_string(dim));
}

const Kind fft_kind{"fft", [](Case& c) {
                      c.expect_keys({"transform", "n", "dim", "norm"});
                      const auto name = c.config<std::string>("transform");
                      const auto n = c.config<std::int64_t>("n"), dim = c.config<std::int64_t>("dim");
                      const FftNorm norm = norm_named(c.config<std::string>("norm"));
                      if (name != "fft" && name != "ifft" && name != "rfft" && name != "irfft")
                        throw Refused("unknown transform \"" + name + "\"");
                      const Tensor x = name == "rfft" ? c.input("x") : c.complex_input("x");
                      check_size(x, dim, name == "irfft" ? n / 2 + 1 : n);
                      if (name == "fft") return fft(x, dim, norm);
                      if (name == "ifft") return ifft(x, dim, norm);
                      return name == "rfft" ? rfft(x, dim, norm) : irfft(x, n, dim, norm);
                    }};

const Kind circulant_kind{"circulant", [](Case& c) {
                            c.expect_keys({});
                            return circulant_product(c.input("x"), c.input("c"));
                          }};

const Kind toeplitz_kind{"toeplitz", [](Case& c) {
                           c.expect_keys({"causal"});
                           return toeplitz_product(c.input("x"), c.input("t"), c.config<bool>("causal"));
                         }};

const Kind fnet_mix_kind{"fnet_mix", [](Case& c) {
                           c.expect_keys({});
                           return fourier_mix(c.input("x"), 0, 2);
                         }};

}  // namespace
}  // namespace weft::golden
