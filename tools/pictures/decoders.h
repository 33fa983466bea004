// Decoders of picture files. Each uses a library, and is built only if that library is installed.
#pragma once
#include <weft/pictures.h>

// Registers the decoders of this build, once.
void register_optional_decoders();

weft::Picture decode_png(std::string_view bytes);   // only with WEFT_PNG
weft::Picture decode_jpeg(std::string_view bytes);  // only with WEFT_JPEG
