#include "machine/sampled.h"

#include <chrono>
#include <cmath>
#include <numeric>

#include "machine/sampled_kinds.h"
#include "weft/context.h"

namespace weft::bench {
namespace {

constexpr auto first = static_cast<std::size_t>(Sampled::sse);

long vectors(const Samples& samples) { return std::accumulate(samples.begin() + first, samples.end(), 0L); }

// The most demanding kind that a CPU with this instruction set supports.
std::size_t most_of(const std::string& isa) {
  if (isa == "sse2") return static_cast<std::size_t>(Sampled::sse);
  for (std::size_t i = 0; i < samples_count; ++i)
    if (isa == sampled_names[i]) return i;
  return samples_count - 1;
}

}  // namespace

Samples sample(const std::function<void()>& run, double seconds) {
  using Clock = std::chrono::steady_clock;
  Samples samples{};
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  weft_sampling_start();
  do run();
  while (Clock::now() < end);
  weft_sampling_stop(samples.data());
  return samples;
}

std::string ran(const Samples& samples) {
  const long all = vectors(samples);
  for (std::size_t i = samples_count; all > 0 && i-- > first;)
    if (samples[i] * 20 >= all) return sampled_names[i];
  return "-";
}

bool is_beyond(const Samples& samples) {
  long beyond = 0;
  for (std::size_t i = most_of(isa_name(Context::current().isa())) + 1; i < samples_count; ++i) beyond += samples[i];
  return beyond * 20 > vectors(samples);
}

std::string shares(const Samples& samples) {
  std::string text;
  const long all = vectors(samples);
  for (std::size_t i = samples_count; i-- > first;) {
    if (samples[i] * 100 < all || samples[i] == 0) continue;
    const auto percent = std::lround(100.0 * static_cast<double>(samples[i]) / static_cast<double>(all));
    text += (text.empty() ? "" : ", ") + std::string(sampled_names[i]) + " " + std::to_string(percent) + " %";
  }
  return text.empty() ? "no vector instructions" : text;
}

}  // namespace weft::bench
