// Decodes JPEG files with the TurboJPEG interface of libjpeg-turbo.
#ifdef WEFT_JPEG
#include <turbojpeg.h>
#include <weft/error.h>

#include <memory>

#include "pictures/decoders.h"

namespace {

constexpr int largest_side = 1 << 14;

struct Destroyed {
  void operator()(void* decompressor) const { tjDestroy(decompressor); }
};

}  // namespace

// Throws an Error for a damaged picture, even if other programs would show a part of it.
weft::Picture decode_jpeg(std::string_view bytes) {
  const std::unique_ptr<void, Destroyed> decompressor(tjInitDecompress());
  if (!decompressor) throw weft::Error("can't start the JPEG decoder");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, colors = 0;
  if (tjDecompressHeader3(decompressor.get(), data, bytes.size(), &width, &height, &sampling, &colors) != 0)
    throw weft::Error(std::string("not a JPEG picture: ") + tjGetErrorStr2(decompressor.get()));
  if (width > largest_side || height > largest_side)
    throw weft::Error("expected a JPEG picture with sides of at most " + std::to_string(largest_side) +
                      " pixels, got " + std::to_string(height) + " x " + std::to_string(width));
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) throw weft::Error("expected a JPEG picture in gray or RGB, got CMYK");
  const bool is_gray = colors == TJCS_GRAY;
  weft::Picture picture{{height, width, is_gray ? 1 : 3}, {}};
  picture.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * (is_gray ? 1 : 3));
  if (tjDecompress2(decompressor.get(), data, bytes.size(), reinterpret_cast<unsigned char*>(picture.pixels.data()),
                    width, 0, height, is_gray ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT) != 0)
    throw weft::Error(std::string("the JPEG picture is damaged: ") + tjGetErrorStr2(decompressor.get()));
  return picture;
}
#endif
