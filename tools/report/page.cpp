#include "report/page.h"

#include <weft/version.h>

#include <string_view>

#include "report/parts.h"

namespace report {
namespace {

const std::string_view generator = "<meta name=\"generator\" content=\"weft report";

std::string valid_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : valid_utf8(text)) switch (c) {
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '&': html += "&amp;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  return html;
}

std::string script_data(const Json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<') text += "\\u003c";
    else text += c;
  return text;
}

std::string filled(std::string_view frame, const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string html;
  for (const auto& [place, content] : parts) {
    const std::size_t at = frame.find(place);
    html.append(frame.substr(0, at)).append(content);
    frame.remove_prefix(at + place.size());
  }
  return html.append(frame);
}

std::string page(const std::string& title, const Json& data) {
  return filled(page_frame, {{"{{title}}", escaped(title)},
                             {"{{version}}", WEFT_VERSION},
                             {"{{style}}", page_style},
                             {"{{script}}", page_script},
                             {"{{data}}", script_data(data)}});
}

bool is_page(const std::string& text) {
  return std::string_view(text).substr(0, 1000).find(generator) != std::string_view::npos;
}

}  // namespace report
