// Tests of the list of instruction sets (weft/isas.def) and of the CPU features that each of them requires.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "weft/context.h"
#include "weft/detail/isas.h"
#include "weft/error.h"

using namespace weft;
using namespace weft::detail;

namespace {

// Two processors, x and y. The last three sets extend "b" or one another.
constexpr IsaLine list[] = {{"a", "x", "none", "all"}, {"b", "x", "a", "all"},          {"z", "y", "none", "all"},
                            {"c", "x", "b", "gemm"},   {"d", "x", "c", "norm softmax"}, {"e", "x", "b", "all"}};
constexpr std::size_t a = 0, b = 1, c = 3, d = 4, e = 5;

constexpr IsaLine base = {"a", "x", "none", "all"};
constexpr IsaLine late[] = {base, {"c", "x", "b", "all"}, {"b", "x", "a", "all"}};  // extends a set that comes later
constexpr IsaLine itself[] = {base, {"b", "x", "b", "all"}};
constexpr IsaLine foreign[] = {base, {"z", "y", "a", "all"}};  // extends a set of another processor
constexpr IsaLine two_roots[] = {base, {"b", "x", "none", "all"}};
constexpr IsaLine unknown[] = {base, {"b", "x", "q", "all"}};
constexpr IsaLine part[] = {{"a", "x", "none", "gemm"}};  // the first set must have all kernels

// All features of the instruction set and of the sets that it extends, spelled as in /proc/cpuinfo but without
// underscores.
std::string features_of(Isa isa) {
  static const char* const own[] = {
#define HAS(feature) " " #feature
#define WEFT_INSTRUCTION_SET(name, processor, extends, kernels, arch, bytes, traits, features, flags) "" features,
#include "weft/isas.def"
#undef HAS
  };
  std::string all;
  for (std::size_t i = index_of(isa); i < isa_count; i = extended(isa_lines, i)) all += own[i];
  std::transform(all.begin(), all.end(), all.begin(), [](unsigned char x) { return std::tolower(x); });
  return all;
}

}  // namespace

TEST_CASE("isas: a list is valid if each set extends an earlier set of the same processor") {
  CHECK(is_ordered(isa_lines));
  CHECK(is_ordered(list));
  CHECK_FALSE(is_ordered(late));
  CHECK_FALSE(is_ordered(itself));
  CHECK_FALSE(is_ordered(foreign));
  CHECK_FALSE(is_ordered(two_roots));
  CHECK_FALSE(is_ordered(unknown));
  CHECK_FALSE(is_ordered(part));
}

TEST_CASE("isas: a set without a kernel uses the kernel of the nearest set that it extends") {
  for (std::size_t isa : {a, b, e}) CHECK(serving(list, isa, "gemm") == isa);
  CHECK(serving(list, c, "gemm") == c);
  CHECK(serving(list, c, "norm") == b);
  CHECK(serving(list, d, "norm") == d);
  CHECK(serving(list, d, "softmax") == d);
  CHECK(serving(list, d, "gemm") == c);
  CHECK(serving(list, d, "fft") == b);
  for (const char* unit : {"soft", "max", "norm softmax", "", "all"}) CHECK(serving(list, d, unit) == b);
}

TEST_CASE("isas: a CPU runs a set if it has the features of that set and of all sets that it extends") {
  const auto what = [](const std::vector<std::size_t>& lacks, std::size_t isa) -> std::string {
    const char* lack = lacking(list, isa, [&](std::size_t line) -> const char* {
      return std::count(lacks.begin(), lacks.end(), line) == 0 ? nullptr : list[line].name.data();
    });
    return lack == nullptr ? "" : lack;
  };
  for (std::size_t isa = 0; isa < std::size(list); ++isa) {
    CHECK(what({}, isa) == "");
    CHECK(what({isa}, isa) == list[isa].name);
  }
  CHECK(what({b}, a) == "");
  for (std::size_t isa : {b, c, d, e}) CHECK(what({b}, isa) == "b");
  CHECK(what({c}, d) == "c");
  CHECK(what({c}, e) == "");
  CHECK(what({a, c}, d) == "c");
}

TEST_CASE("isas: the CPU has a set if the system reports it and the set belongs to this build and processor") {
  std::ifstream file("/proc/cpuinfo");
  std::string info((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE_FALSE(info.empty());
  info.erase(std::remove(info.begin(), info.end(), '_'), info.end());
  std::replace_if(
      info.begin(), info.end(), [](unsigned char x) { return std::isspace(x) != 0; }, ' ');
  for (std::size_t i = 0; i < isa_count; ++i) {
    const auto isa = static_cast<Isa>(i);
    bool expected = is_built(isa) && isa_lines[i].processor == this_processor;
    std::string features = features_of(isa);
    for (std::size_t at = 1; at < features.size();) {
      const std::size_t end = std::min(features.find(' ', at), features.size());
      expected = expected && has_word(info, features.substr(at, end - at));
      at = end + 1;
    }
    CAPTURE(isa_name(isa));
    CAPTURE(features);
    CHECK(cpu_has(isa) == expected);
  }
  CHECK_FALSE(cpu_has(static_cast<Isa>(isa_count)));
}

TEST_CASE("isas: names, order and the settings of a context") {
  Context context;
  std::vector<Isa> available;
  for (std::size_t i = 0; i < isa_count; ++i) {
    const auto isa = static_cast<Isa>(i);
    CHECK(isa_name(isa) == isa_lines[i].name);
    if (cpu_has(isa)) {
      available.push_back(isa);
      context.set_isa(isa);
      CHECK(context.isa() == isa);
    } else {
      CHECK_THROWS_WITH_AS(context.set_isa(isa), doctest::Contains(isa_name(isa)), Error);
      // Any processor can run "generic". A build with only "generic" may run on a processor with better ones.
      const bool can_run = isa_lines[i].processor == "other" || this_processor == "other";
      if (isa_lines[i].processor != this_processor && !can_run)
        CHECK_THROWS_WITH_AS(context.set_isa(isa), doctest::Contains("lacks an "), Error);
      if (isa_lines[i].processor == "other")
        CHECK_THROWS_WITH_AS(context.set_isa(isa), doctest::Contains("-DWEFT_ISAS=generic has them"), Error);
    }
  }
  CHECK(available_isas() == available);
  CHECK(isa_name(static_cast<Isa>(isa_count)) == std::string("unknown"));
}

TEST_CASE("isas: WEFT_ISA must name a set of this kind of processor, even if this build does not have it") {
  const char* const variable = ::getenv("WEFT_ISA");
  const std::string before = variable == nullptr ? "" : variable;
  std::string names;
  for (const IsaLine& line : isa_lines)
    if (line.processor == this_processor) names += (names.empty() ? "" : ", ") + std::string(line.name);
  Isa best = available_isas().front();
  for (std::size_t i = 0; i < isa_count; ++i) {
    const IsaLine& line = isa_lines[i];
    const auto isa = static_cast<Isa>(i);
    if (cpu_has(isa)) best = isa;
    ::setenv("WEFT_ISA", std::string(line.name).c_str(), 1);
    CAPTURE(line.name);
    if (line.processor != this_processor) {
      CHECK_THROWS_WITH_AS(best_isa(), doctest::Contains(("expected one of " + names).c_str()), Error);
      CHECK_THROWS_WITH_AS(Context(), doctest::Contains(("expected one of " + names).c_str()), Error);
    } else {
      CHECK(best_isa() == best);  // the best set up to the named one
    }
  }
  ::unsetenv("WEFT_ISA");
  CHECK(best_isa() == available_isas().back());
  if (!before.empty()) ::setenv("WEFT_ISA", before.c_str(), 1);
}
