// Tests of safetensors files: round trips, every stored type, tensors that can't be saved.
#include "weft/safetensors.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "safetensors_bytes.h"
#include "temporary_folder.h"
#include "weft/detail/byte_order.h"
#include "weft/error.h"

namespace {

using weft::DType;
using weft::Load;
using weft::SafetensorsFile;
using weft::save_safetensors;
using weft::Shape;
using weft::Tensor;
using weft::test::file_of;

using Metadata = std::map<std::string, std::string>;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  weft::detail::swap_byte_order(bytes.data(), values.size(), sizeof(T));
  return bytes;
}

std::vector<std::uint32_t> bits_of(const Tensor& t) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(t.numel()));
  std::memcpy(bits.data(), weft::raw::contiguous(t).data<float>(), bits.size() * 4);
  return bits;
}

// A tensor "x" with one axis. Its data start `shift` bytes after a multiple of 64 bytes.
std::string one_tensor(const std::string& dtype, std::size_t n, const std::string& data, std::size_t shift = 0) {
  std::string header = "{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(n) +
                       "],\"data_offsets\":[0," + std::to_string(data.size()) + "]}}";
  header.append((64 - (8 + header.size()) % 64) % 64 + shift, ' ');
  return file_of(header, data);
}

}  // namespace

TEST_CASE("safetensors: saved tensors are loaded unchanged, bit by bit") {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> patterns = {0,          0x80000000, 0x3f800000, 0x7f800000, 0xff800000, 0x7fc00001,
                                               0xffa5a5a5, 0x7f800001, 1,          0x007fffff, 0x7f7fffff, 0xc0490fdb};
  Tensor f = Tensor::empty({3, 4});
  std::memcpy(f.mutable_data<float>(), patterns.data(), 48);
  const std::vector<double> d = {0.1, -0.0, std::numeric_limits<double>::denorm_min(), INFINITY, NAN};
  const std::vector<std::int64_t> i = {0, -1, std::numeric_limits<std::int64_t>::min(), INT64_MAX};
  const Metadata metadata = {
      {"config", "{\"a\": [1, \"\\n\"]}"}, {"", "empty key"}, {"Schlüssel \t\"", "é 🧵 \x01"}};
  const std::vector<std::pair<std::string, Tensor>> saved = {{"layers.0.weight", f},
                                                             {"d", Tensor::from(d, {5})},
                                                             {"i", Tensor::from(i, {2, 2})},
                                                             {"scalar", Tensor::scalar(2.5)},
                                                             {"nothing", Tensor::empty({0})},
                                                             {"nothing.2", Tensor::empty({3, 0, 2}, DType::f64)},
                                                             {"", Tensor::scalar(7, DType::i64)},
                                                             {"quote \" and \\ and ü", Tensor::full({17}, 3)},
                                                             {"large", Tensor::full({1000, 16}, 1)}};
  save_safetensors(folder / "a", saved, metadata);
  for (Load how : {Load::map, Load::copy}) {
    const SafetensorsFile file(folder / "a");
    CHECK(file.path() == folder / "a");
    CHECK(file.metadata() == metadata);
    CHECK(file.names().size() == saved.size());
    for (const auto& named : saved) {
      const std::string& name = named.first;
      const Tensor& tensor = named.second;
      CAPTURE(name);
      REQUIRE(file.contains(name));
      CHECK(file.shape(name) == tensor.shape());
      const Tensor loaded = file.load(name, how);
      CHECK(loaded.shape() == tensor.shape());
      REQUIRE(loaded.dtype() == tensor.dtype());
      CHECK(std::string(static_cast<const char*>(loaded.raw()), loaded.numel() * weft::dtype_size(loaded.dtype())) ==
            std::string(static_cast<const char*>(tensor.raw()), tensor.numel() * weft::dtype_size(tensor.dtype())));
    }
    CHECK(bits_of(file.load("layers.0.weight", how)) == patterns);
    CHECK(file.stored_dtype("d") == "F64");
    CHECK_FALSE(file.contains("absent"));
    CHECK_THROWS_WITH_AS(file.load("absent"), doctest::Contains("\"absent\""), weft::Error);
    CHECK_THROWS_AS(file.shape("absent"), weft::Error);
    CHECK_THROWS_AS(file.stored_dtype("absent"), weft::Error);
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("safetensors: the written layout follows the format") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", {{"odd", Tensor::zeros({3})},
                                  {"odd64", Tensor::zeros({3}, DType::f64)},
                                  {"even", Tensor::zeros({32})},
                                  {"even64", Tensor::zeros({8}, DType::i64)}});
  const std::string bytes = folder.read("a");
  const std::size_t length = static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  CHECK((8 + length) % 64 == 0);
  CHECK(bytes[8] == '{');
  CHECK(bytes.size() == 8 + length + 128 + 64 + 24 + 12);
  const SafetensorsFile file(folder / "a");
  CHECK(file.names() == std::vector<std::string>{"even", "even64", "odd64", "odd"});
  for (const char* name : {"even", "even64", "odd64"})
    CHECK(reinterpret_cast<std::uintptr_t>(file.load(name).raw()) % 64 == 0);
  CHECK(file.metadata().empty());
  CHECK(bytes.find("__metadata__") == std::string::npos);

  save_safetensors(folder / "none", {});
  CHECK(SafetensorsFile(folder / "none").names().empty());
}

TEST_CASE("safetensors: views are saved as their elements") {
  const TemporaryFolder folder;
  const Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  save_safetensors(folder / "a",
                   {{"t", x.view({3, 2}, {1, 3}, 0)}, {"s", x.view({2}, {3}, 1)}, {"b", x.view({3}, {0}, 4)}});
  const SafetensorsFile file(folder / "a");
  CHECK(file.load("t").to_vector<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(file.load("s").to_vector<float>() == std::vector<float>{1, 4});
  CHECK(file.load("b").to_vector<float>() == std::vector<float>{4, 4, 4});
}

TEST_CASE("safetensors: mapped tensors are views that outlive the file, and copies can be written") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", {{"x", Tensor::full({64}, 5)}});
  Tensor mapped, again, copied;
  {
    const SafetensorsFile file(folder / "a");
    mapped = file.load("x");
    again = file.load("x", Load::map);
    copied = file.load("x", Load::copy);
  }
  // Numbers in another byte order than that of the processor are copied and converted.
  constexpr bool is_view = weft::detail::has_byte_order_of_files;
  CHECK((mapped.raw() == again.raw()) == is_view);
  CHECK(mapped.raw() != copied.raw());
  save_safetensors(folder / "a", {{"x", Tensor::full({64}, 6)}});
  CHECK(mapped.to_vector<float>() == std::vector<float>(64, 5));
  if (is_view) CHECK_THROWS_AS(mapped.mutable_data<float>(), weft::Error);
  copied.mutable_data<float>()[0] = 1;
  CHECK(mapped.data<float>()[0] == 5);
  CHECK(SafetensorsFile(folder / "a").load("x").data<float>()[0] == 6);
}

TEST_CASE("safetensors: every f16 number is widened exactly") {
  const TemporaryFolder folder;
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  folder.write("f16", one_tensor("F16", halves.size(), bytes_of(halves)));
  folder.write("bf16", one_tensor("BF16", halves.size(), bytes_of(halves)));
  const Tensor f16 = SafetensorsFile(folder / "f16").load("x"), bf16 = SafetensorsFile(folder / "bf16").load("x");
  REQUIRE(f16.dtype() == DType::f32);
  REQUIRE(bf16.dtype() == DType::bf16);
  const auto wide = bits_of(f16), brain = bits_of(weft::raw::convert(bf16, DType::f32));
  std::size_t wrong = 0;
  for (std::uint32_t h = 0; h < 65536; ++h) {
    wrong += bf16.data<weft::bfloat16>()[h].bits != h;
    wrong += brain[h] != h << 16;
    // IEEE 754 binary16: a sign, 5 bits of exponent and 10 bits of fraction.
    const int exponent = static_cast<int>(h >> 10 & 31), fraction = static_cast<int>(h & 1023);
    if (exponent == 31) {
      wrong += wide[h] != ((h & 0x8000) << 16 | 0x7f800000 | static_cast<std::uint32_t>(fraction) << 13);
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    const float value = f16.data<float>()[h];
    wrong += value != static_cast<float>(h & 0x8000 ? -magnitude : magnitude);
    wrong += std::signbit(value) != ((h & 0x8000) != 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: integers and booleans are widened to i64") {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> i32 = {0, -1, INT32_MIN, INT32_MAX};
  const std::string u8("\x00\x01\x7f\x80\xff", 5), flags("\x00\x01\x02", 3);
  folder.write("i32", one_tensor("I32", 4, bytes_of(i32)));
  folder.write("u8", one_tensor("U8", 5, u8));
  folder.write("bool", one_tensor("BOOL", 3, flags));
  using Values = std::vector<std::int64_t>;
  CHECK(SafetensorsFile(folder / "i32").load("x").to_vector<std::int64_t>() == Values{0, -1, INT32_MIN, INT32_MAX});
  CHECK(SafetensorsFile(folder / "u8").load("x").to_vector<std::int64_t>() == Values{0, 1, 127, 128, 255});
  CHECK(SafetensorsFile(folder / "bool").load("x").to_vector<std::int64_t>() == Values{0, 1, 1});
}

TEST_CASE("safetensors: unaligned data are copied, whatever their type") {
  const TemporaryFolder folder;
  const std::vector<float> f = {1.5f, -2, 3};
  const std::vector<double> d = {0.1, 0.2};
  const std::vector<std::int64_t> i = {-5, INT64_MAX};
  const std::vector<std::uint16_t> half = {0x3c00, 0xc000};
  for (std::size_t shift : {0, 1, 2, 3, 4, 7}) {
    CAPTURE(shift);
    folder.write("f", one_tensor("F32", 3, bytes_of(f), shift));
    folder.write("d", one_tensor("F64", 2, bytes_of(d), shift));
    folder.write("i", one_tensor("I64", 2, bytes_of(i), shift));
    folder.write("h", one_tensor("F16", 2, bytes_of(half), shift));
    const Tensor mapped = SafetensorsFile(folder / "f").load("x");
    CHECK(reinterpret_cast<std::uintptr_t>(mapped.raw()) % 4 == 0);
    CHECK(mapped.to_vector<float>() == f);
    CHECK(SafetensorsFile(folder / "d").load("x").to_vector<double>() == d);
    CHECK(SafetensorsFile(folder / "i").load("x").to_vector<std::int64_t>() == i);
    CHECK(SafetensorsFile(folder / "h").load("x").to_vector<float>() == std::vector<float>{1, -2});
  }
}

TEST_CASE("safetensors: types that weft doesn't read don't hide the other tensors") {
  const TemporaryFolder folder;
  folder.write("a", file_of(R"({"f8":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},)"
                            R"("x":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})",
                            std::string(4, '\0') + bytes_of(std::vector<float>{2.5f})));
  const SafetensorsFile file(folder / "a");
  CHECK(file.load("x").item() == 2.5);
  CHECK(file.stored_dtype("f8") == "F8_E4M3");
  CHECK_THROWS_WITH_AS(file.load("f8"), doctest::Contains("F8_E4M3"), weft::Error);
}

TEST_CASE("safetensors: files that are missing or empty, and folders") {
  const TemporaryFolder folder;
  folder.write("empty", "");
  CHECK_THROWS_WITH_AS(SafetensorsFile(folder / "missing"), doctest::Contains("/missing\""), weft::Error);
  CHECK_THROWS_AS(SafetensorsFile(folder / "empty"), weft::Error);
  CHECK_THROWS_AS(SafetensorsFile(folder / ""), weft::Error);
}

TEST_CASE("safetensors: tensors that can't be saved are refused, and the old file remains") {
  const TemporaryFolder folder;
  const Tensor x = Tensor::full({100000}, 1);
  save_safetensors(folder / "a", {{"x", x}});
  const std::string old = folder.read("a");
  const auto refuses = [&](const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                           const Metadata& metadata, const char* why) {
    CHECK_THROWS_WITH_AS(save_safetensors(path, tensors, metadata), doctest::Contains(why), weft::Error);
    CHECK(folder.read("a") == old);
    CHECK(folder.files() == 1);
  };
  refuses(folder / "a", {{"x", x}, {"x", x}}, {}, "\"x\"");
  refuses(folder / "a", {{"__metadata__", x}}, {}, "reserved by the format");
  refuses(folder / "a", {{"c", Tensor::zeros({2}, DType::c64)}}, {}, "c64");
  refuses(folder / "a", {{"u", Tensor()}}, {}, "undefined");
  refuses(folder / "a", {{"\xff", x}}, {}, "UTF-8");
  refuses(folder / "a", {{"x", x}}, {{"k", "\xc3"}}, "UTF-8");
  refuses(folder / "a", {{"x", x}}, {{"\x80", "v"}}, "UTF-8");
  refuses(folder / "missing/a", {{"x", x}}, {}, "No such file");

  struct rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t bytes : {0, 100, 5000}) {
    const struct rlimit limit { bytes, before.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    refuses(folder / "a", {{"x", x}}, {}, "File too large");
    ::setrlimit(RLIMIT_FSIZE, &before);
  }
}
