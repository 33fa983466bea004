#include "pictures/decoders.h"

void register_optional_decoders() {
  static const bool registered = [] {
#ifdef WEFT_PNG
    weft::register_picture_decoder({"PNG", "\x89PNG\r\n\x1a\n", decode_png});
#endif
#ifdef WEFT_JPEG
    weft::register_picture_decoder({"JPEG", "\xFF\xD8\xFF", decode_jpeg});
#endif
    return true;
  }();
  (void)registered;
}
