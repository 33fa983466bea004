// Decoders of picture files, each by a library that is used where it is installed.
#pragma once
#include <weft/pictures.h>

// Registers the decoders of this build, once.
void register_optional_decoders();

weft::Picture decode_png(std::string_view bytes);   // only with WEFT_PNG
weft::Picture decode_jpeg(std::string_view bytes);  // only with WEFT_JPEG
