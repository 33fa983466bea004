#include "report/page.h"

#include <weft/version.h>

#include <string_view>

#include "report/parts.h"

namespace report {
namespace {

const std::string_view generator = "<meta name=\"generator\" content=\"weft report";

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) switch (c) {
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '&': html += "&amp;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  return html;
}

// Returns JSON in valid UTF-8 that contains neither "</script" nor "<!--".
std::string script_data(const Json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<') text += "\\u003c";
    else text += c;
  return text;
}

std::string valid_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::string page(const std::string& title, const Json& data) {
  const std::pair<std::string_view, std::string> parts[] = {{"{{title}}", escaped(valid_utf8(title))},
                                                            {"{{version}}", WEFT_VERSION},
                                                            {"{{style}}", page_style},
                                                            {"{{script}}", page_script},
                                                            {"{{data}}", script_data(data)}};
  std::string_view rest = page_frame;
  std::string html;
  for (const auto& [place, content] : parts) {  // in the order of the frame, so that inserted text is not searched
    const std::size_t at = rest.find(place);
    html.append(rest.substr(0, at)).append(content);
    rest.remove_prefix(at + place.size());
  }
  return html.append(rest);
}

bool is_page(const std::string& text) {
  return std::string_view(text).substr(0, 1000).find(generator) != std::string_view::npos;
}

}  // namespace report
