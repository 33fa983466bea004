// Tests of PNG and JPEG pictures, as the command reads them.
#include <doctest/doctest.h>

#include "command.h"
#include "contains.h"
#include "pictures/decoders.h"
#include "temporary_folder.h"
#include "weft/error.h"

#ifdef WEFT_PNG
#include <png.h>
#endif
#ifdef WEFT_JPEG
#include <turbojpeg.h>
#endif

namespace weft::test {
namespace {

// Pixels of a picture whose upper half is brighter than its lower half, or the reverse.
std::string pixels_of(int height, int width, int channels, bool upper) {
  std::string pixels;
  for (int row = 0; row < height; ++row)
    for (int i = 0; i < width * channels; ++i)
      pixels += static_cast<char>((row < height / 2) == upper ? 200 - i % 7 : 30 + i % 5);
  return pixels;
}

#ifdef WEFT_PNG
std::string png_of(int height, int width, std::uint32_t format, const std::string& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<std::uint32_t>(height);
  image.width = static_cast<std::uint32_t>(width);
  image.format = format;
  png_alloc_size_t size = 0;
  REQUIRE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr) != 0);
  std::string bytes(size, '\0');
  REQUIRE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) != 0);
  return bytes;
}
#endif

#ifdef WEFT_JPEG
std::string jpeg_of(int height, int width, bool is_gray, const std::string& pixels) {
  const tjhandle compressor = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(compressor, reinterpret_cast<const unsigned char*>(pixels.data()), width, 0, height,
                      is_gray ? TJPF_GRAY : TJPF_RGB, &data, &size, is_gray ? TJSAMP_GRAY : TJSAMP_444, 95, 0) == 0);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tjFree(data);
  tjDestroy(compressor);
  return bytes;
}
#endif

}  // namespace

#ifdef WEFT_PNG
TEST_CASE("picture files: PNG, gray, colored and transparent") {
  for (const int channels : {1, 3}) {
    const std::string pixels = pixels_of(5, 7, channels, true);
    const Picture picture = decode_png(png_of(5, 7, channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, pixels));
    CHECK(picture.size.height == 5);
    CHECK(picture.size.width == 7);
    CHECK(picture.size.channels == channels);
    CHECK(picture.pixels == pixels);
  }
  const Picture clear = decode_png(png_of(1, 2, PNG_FORMAT_RGBA, std::string("\x10\x20\x30\xFF\x10\x20\x30\0", 8)));
  CHECK(clear.pixels == std::string("\x10\x20\x30\0\0\0", 6));
}

TEST_CASE("picture files: 16-bit pixels have the scale of 8-bit pixels") {
  // 1 x 2 gray pixels of 16 bits, 0x4040 and 0xFFFF.
  const unsigned char bytes[] = {0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
                                 0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x10, 0x00, 0x00, 0x00,
                                 0x00, 0x81, 0xD9, 0xFC, 0x15, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78,
                                 0x9C, 0x63, 0x70, 0x70, 0xF8, 0xFF, 0x1F, 0x00, 0x04, 0xC2, 0x02, 0x7F, 0xA7, 0xF4,
                                 0xB6, 0x2D, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};
  const Picture picture = decode_png({reinterpret_cast<const char*>(bytes), sizeof bytes});
  CHECK(picture.pixels == "\x40\xFF");
}

TEST_CASE("picture files: a damaged PNG is an Error, wherever it is truncated") {
  const std::string good = png_of(9, 8, PNG_FORMAT_RGB, pixels_of(9, 8, 3, true));
  for (std::size_t size = 8; size + 12 < good.size(); ++size)  // the last 12 bytes only mark the end
    CHECK_THROWS_AS((void)decode_png(good.substr(0, size)), Error);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 0x40);
  CHECK_THROWS_AS((void)decode_png(flipped), Error);
}

TEST_CASE("picture files: train, eval and classify folders of PNG pictures") {
  const TemporaryFolder folder;
  for (const bool upper : {true, false})
    for (int i = 0; i < 12; ++i)
      folder.write(
          std::string("d/") + (upper ? "sky" : "ground") + "/" + std::to_string(i) + ".png",
          png_of(8, 8, i % 2 == 0 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, pixels_of(8, 8, i % 2 == 0 ? 1 : 3, upper)));
  const std::string data = folder / "d", run = folder / "run";
  folder.write("d/ground/README.md", "The ground.");
  const auto trained =
      weft("train --arch gmlp --layers 1 --d-model 8 --d-ffn 16 --steps 40 --batch 8 --lr 0.01 --data " + data +
           " --out " + run);
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "a folder for each label, pictures of 8 x 8 pixels with 3 channels; 24 rows, 2 labels"));
  CHECK(contains(trained.err, "; 1 other file ignored\n"));
  CHECK(contains(weft("eval " + run + " --data " + data).out, "accuracy 100.00 %"));
  const auto table = weft("classify " + run + " " + data + " --csv");
  CHECK(table.code == 0);
  CHECK(contains(table.out, data + "/sky/3.png,sky,"));
  CHECK(contains(table.out, data + "/ground/4.png,ground,"));
  CHECK(contains(weft("classify " + run + " " + data + "/sky/1.png").out, "sky\t"));
  CHECK(contains(weft("classify " + run + " " + data + "/sky/0.png").out, "sky\t"));  // gray
  for (const bool upper : {true, false})
    folder.write(std::string("gray/") + (upper ? "sky" : "ground") + "/0.png",
                 png_of(8, 8, PNG_FORMAT_GRAY, pixels_of(8, 8, 1, upper)));
  CHECK(contains(weft("eval " + run + " --data " + (folder / "gray")).out, "accuracy 100.00 %"));
  folder.write("d/sky/0.png", "not a picture");
  CHECK(fails_with(weft("classify " + run + " " + data + "/sky/0.png"), 1, "the model reads pictures"));
}

TEST_CASE("picture files: a picture of another size and a truncated PNG are refused by name, in one line") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, int height, bool upper, std::size_t missing = 0) {
    const std::string png = png_of(height, 8, PNG_FORMAT_GRAY, pixels_of(height, 8, 1, upper));
    folder.write(path, png.substr(0, png.size() - missing));
  };
  for (const std::string set : {"good", "mixed", "damaged", "low"})
    for (const bool upper : {true, false})
      for (int i = 0; i < 4; ++i)
        write(set + (upper ? "/sky/" : "/ground/") + std::to_string(i) + ".png", set == "low" ? 6 : 8, upper);
  write("mixed/sky/4.png", 6, true);
  write("damaged/sky/4.png", 8, true, 30);
  write("gray.png", 6, true);
  const std::string good = folder / "good", run = folder / "run", tiny = " --layers 1 --d-model 8 --steps 2 --batch 4";
  const auto train = [&](const std::string& data, const std::string& options = "") {
    return weft("train --arch gmlp" + tiny + " --data " + data + options + " --out " + (folder / "refused"));
  };
  REQUIRE(weft("train --arch gmlp" + tiny + " --data " + good + " --out " + run).code == 0);

  const std::string size = "sky/4.png\": expected a picture of 8 x 8 pixels, like those before it, got 6 x 8; ";
  const std::string cut = "sky/4.png\": the PNG picture is damaged: ";
  CHECK(fails_with(train(folder / "mixed"), 1, "\"" + (folder / "mixed") + "/" + size));
  CHECK(fails_with(train(folder / "damaged"), 1, "\"" + (folder / "damaged") + "/" + cut));
  CHECK(fails_with(weft("classify " + run + " " + (folder / "mixed")), 1, size));
  CHECK(fails_with(weft("classify " + run + " " + (folder / "damaged")), 1, cut));
  CHECK(fails_with(weft("classify " + run + " " + (folder / "damaged/sky/4.png")), 1, cut));

  const std::string other = "\": expected pictures of 8 x 8 pixels, got 6 x 8\n", low = folder / "low";
  CHECK(fails_with(weft("classify " + run + " " + (folder / "gray.png")), 1, "\"" + (folder / "gray.png") + other));
  CHECK(fails_with(weft("classify " + run + " " + low), 1, "\"" + low + other));
  CHECK(contains(weft("eval " + run + " --data " + low).err, "weft: \"" + low + other));
  for (const std::string option : {" --validation ", " --test "})
    CHECK(fails_with(train(good, option + low), 1, "\"" + low + other));
  CHECK(fails_with(weft("train --from " + run + " --steps 2 --data " + low + " --out " + (folder / "refused")), 1,
                   "\"" + low + other));
}
#endif

#ifdef WEFT_JPEG
TEST_CASE("picture files: JPEG, gray and colored") {
  for (const bool is_gray : {true, false}) {
    const std::string pixels = pixels_of(16, 8, is_gray ? 1 : 3, true);
    const Picture picture = decode_jpeg(jpeg_of(16, 8, is_gray, pixels));
    CHECK(picture.size.height == 16);
    CHECK(picture.size.width == 8);
    CHECK(picture.size.channels == (is_gray ? 1 : 3));
    REQUIRE(picture.pixels.size() == pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i)
      CHECK(std::abs(static_cast<unsigned char>(picture.pixels[i]) - static_cast<unsigned char>(pixels[i])) < 24);
  }
}

TEST_CASE("picture files: a truncated JPEG is an Error") {
  const std::string good = jpeg_of(64, 64, false, pixels_of(64, 64, 3, true));
  for (const std::size_t size : {std::size_t{4}, good.size() / 4, good.size() / 2, good.size() - 3})
    CHECK_THROWS_AS((void)decode_jpeg(good.substr(0, size)), Error);
}
#endif

}  // namespace weft::test
