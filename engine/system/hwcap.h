// Features of an aarch64 CPU, which the operating system reports.
#pragma once

namespace weft::detail::hwcap {

enum Feature {
  ASIMDDP,  // sdot
  BF16      // bfdot
};

bool has(Feature feature) noexcept;

}  // namespace weft::detail::hwcap
