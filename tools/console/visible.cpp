#include "console/visible.h"

#include <algorithm>
#include <cstdio>

namespace {

std::string escaped(const char* pattern, unsigned value) {
  char text[8];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

std::string visible(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const auto next = i + 1 < name.size() ? static_cast<unsigned char>(name[i + 1]) : 0u;
    if (byte == '\t') text += "\\t";
    else if (byte == '\n') text += "\\n";
    else if (byte == '\r') text += "\\r";
    else if (byte < ' ' || byte == 0x7F) text += escaped("\\x%02X", byte);
    else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) text += escaped("\\u%04X", (++i, next));
    else text += name[i];
  }
  return text;
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}
