// Tests of safetensors files that are truncated or forged: weft throws an error that names the file and never crashes.
#include <doctest/doctest.h>

#include <string>

#include "safetensors_bytes.h"
#include "temporary_folder.h"
#include "weft/error.h"
#include "weft/safetensors.h"

using weft::SafetensorsFile;
using weft::save_safetensors;
using weft::Tensor;
using weft::test::file_of;

namespace {

const std::vector<std::pair<std::string, Tensor>>& two_tensors() {
  static const std::vector<std::pair<std::string, Tensor>> tensors = {{"x", Tensor::full({5}, 1)},
                                                                      {"y", Tensor::full({2, 2}, 1, weft::DType::f64)}};
  return tensors;
}

}  // namespace

TEST_CASE("safetensors: a file that is cut at any byte, or has one more byte, is an error") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", two_tensors(), {{"k", "v"}});
  const std::string whole = folder.read("a");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("cut", whole.substr(0, size));
    CAPTURE(size);
    CHECK_THROWS_WITH_AS(SafetensorsFile(folder / "cut"), doctest::Contains("/cut\""), weft::Error);
  }
  folder.write("cut", whole + '\0');
  CHECK_THROWS_AS(SafetensorsFile(folder / "cut"), weft::Error);
}

TEST_CASE("safetensors: a file with one byte changed loads or is an error") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", two_tensors(), {{"k", "v"}});
  const std::string whole = folder.read("a");
  for (std::size_t i = 0; i < whole.size() - 52; ++i)
    for (int change : {1, 2, 8, 16, 0x80, 0xff}) {
      std::string spoilt = whole;
      spoilt[i] = static_cast<char>(spoilt[i] ^ change);
      folder.write("spoilt", spoilt);
      try {
        const SafetensorsFile file(folder / "spoilt");
        for (const std::string& name : file.names()) CHECK(file.load(name).numel() <= 52);
      } catch (const weft::Error& error) {
        CHECK(std::string(error.what()).find("/spoilt\"") != std::string::npos);
      }
    }
}

TEST_CASE("safetensors: a wrong header length") {
  const TemporaryFolder folder;
  for (const std::string& length :
       {std::string(8, '\xff'), std::string("\0\0\0\0\0\0\0\x80", 8), std::string("\x7f\0\0\0\0\0\0\0", 8),
        std::string("\xf8\xff\xff\xff\xff\xff\xff\xff", 8), std::string(8, '\0')}) {
    folder.write("a", length + "{}");
    CHECK_THROWS_AS(SafetensorsFile(folder / "a"), weft::Error);
  }
  // The length reaches beyond the end of the bytes. The spaces beyond the end do not belong to the file.
  for (const char length : {2, 3, 9, 10, 11}) {
    const std::string bytes = std::string(1, length) + std::string(7, '\0') + "{}" + std::string(20, ' ');
    const auto read = [&] { return SafetensorsFile(weft::Bytes{bytes.data(), 10, nullptr, false}, "here"); };
    if (length == 2) CHECK(read().names().empty());
    else CHECK_THROWS_WITH_AS(read(), doctest::Contains("truncated"), weft::Error);
  }
  // Longer than the format allows, although the file has that length. The file takes no space on the disk.
  folder.write("a", std::string("\x01\xe1\xf5\x05\0\0\0\0{", 9));
  std::filesystem::resize_file(folder / "a", 8 + 100'000'001);
  CHECK_THROWS_AS(SafetensorsFile(folder / "a"), weft::Error);
}

TEST_CASE("safetensors: forged headers are errors") {
  const TemporaryFolder folder;
  const std::string good = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  folder.write("a", file_of(good, std::string(8, 'a')));
  CHECK_NOTHROW(SafetensorsFile(folder / "a"));
  folder.write("a", file_of(R"( {"x":{"shape":[2],"data_offsets":[0,8],"dtype":"F32"}} )", std::string(8, 'a')));
  CHECK_THROWS_AS(SafetensorsFile(folder / "a"), weft::Error);  // begins with a space

  const char* forged[] = {
      // Ranges.
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551624]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8.0]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":{"0":0}}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":"08"}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
      R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({})",
      // Shapes.
      R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[null],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[9223372036854775808,2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[4611686018427387904,4,2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
      // Types and keys.
      R"({"x":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":32,"shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":null,"shape":[2],"data_offsets":[0,8]}})", R"({"x":{"shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","data_offsets":[0,8]}})", R"({"x":{"dtype":"F32","shape":[2]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})",
      R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      R"({"x":1})", R"({"x":"F32"})", R"({"x":[]})", R"({"x":null})", R"({"x":true})",
      // Metadata.
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":1}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":{"b":"c"}}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":["b"]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":null}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"a":"b","a":"b"}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{},"__metadata__":{}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":"a"})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":["a"]})",
      // Not JSON, or more than one value.
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} {})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],}})",
      R"({x:{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[0x2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[1e999],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[NaN],"data_offsets":[0,8]}})",
      R"({"\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
      "{\"\xc0\xaf\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
      "{\"a\nb\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", R"([])", R"("x")", R"(1)", R"(null)",
      R"({)", R"(}{)", R"({"x")", R"({"x":)", " "};
  for (const char* header : forged) {
    CAPTURE(header);
    folder.write("a", file_of(header, std::string(8, 'a')));
    CHECK_THROWS_WITH_AS(SafetensorsFile(folder / "a"), doctest::Contains("[safetensors]"), weft::Error);
  }
}

TEST_CASE("safetensors: deep and long headers are refused or read without damage") {
  const TemporaryFolder folder;
  const std::size_t depth = 1'000'000;
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  for (const std::string& header :
       {"{\"a\":" + std::string(depth, '['), objects, "{\"x\":{\"shape\":" + std::string(depth, '['),
        "{\"__metadata__\":" + objects, "{\"x\":{\"dtype\":\"" + std::string(depth, 'F') + "\"}}",
        "{\"" + std::string(depth, 'x') + "\":{\"dtype\":1}}"}) {
    folder.write("a", file_of(header, ""));
    CHECK_THROWS_AS(SafetensorsFile(folder / "a"), weft::Error);
  }
  std::string ones = "1";
  for (std::size_t i = 0; i < depth; ++i) ones += ",1";
  folder.write("a", file_of("{\"x\":{\"dtype\":\"U8\",\"shape\":[" + ones + "],\"data_offsets\":[0,1]}}", "a"));
  CHECK_THROWS_AS(SafetensorsFile(folder / "a"), weft::Error);
}
