// The input: a config, which is read for each architecture.
#include "weft/config.h"

#include "target.h"
#include "weft/fnet.h"
#include "weft/gmlp.h"
#include "weft/tnn.h"

namespace {

// A config that is written and read again must be the same.
template <class Config>
void reads(const std::string& json) {
  weft::test::refuses_or_works([&] {
    const std::string written = weft::config_to_json(weft::config_from_json<Config>("fuzz", json));
    if (weft::config_to_json(weft::config_from_json<Config>("fuzz", written)) != written) std::abort();
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string json = weft::test::text_of(data, size);
  reads<weft::GmlpConfig>(json);
  reads<weft::TnnConfig>(json);
  reads<weft::FnetConfig>(json);
  return 0;
}
