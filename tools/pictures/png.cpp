// Decodes PNG files with the simplified interface of libpng (libpng 1.6 manual, section V).
#ifdef WEFT_PNG
#include <png.h>
#include <weft/error.h>

#include <memory>

#include "pictures/decoders.h"

namespace {

constexpr std::uint32_t largest_side = 1 << 14;

struct Freed {
  void operator()(png_image* image) const { png_image_free(image); }
};

}  // namespace

// Converts 16 bits per channel to 8 and a palette to colors, and blends transparent pixels with black.
weft::Picture decode_png(std::string_view bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, Freed> freed(&image);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    throw weft::Error(std::string("not a PNG picture: ") + image.message);
  if (image.width > largest_side || image.height > largest_side)
    throw weft::Error("expected a PNG picture with sides of at most " + std::to_string(largest_side) + " pixels, got " +
                      std::to_string(image.height) + " x " + std::to_string(image.width));
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits have the same scale as 8 bits
  const bool is_colored = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = is_colored ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  weft::Picture picture{{image.height, image.width, is_colored ? 3 : 1}, std::string(PNG_IMAGE_SIZE(image), '\0')};
  const png_color black{};
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0)
    throw weft::Error(std::string("the PNG picture is damaged: ") + image.message);
  if (image.warning_or_error != 0) throw weft::Error(std::string("the PNG picture is damaged: ") + image.message);
  return picture;
}
#endif
