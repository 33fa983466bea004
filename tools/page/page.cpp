#include "page/page.h"

#include <weft/version.h>

#include <string_view>
#include <utility>

#include "page/parts.h"
#include "report/page.h"

namespace page {
namespace {

const std::string_view generator = "<meta name=\"generator\" content=\"weft page\"";

std::string base64(const std::string& bytes) { return report::base64({bytes.begin(), bytes.end()}); }

}  // namespace

std::string make_page(const Contents& contents) {
  const report::Json data{
      {"title", contents.title}, {"kind", contents.kind}, {"version", WEFT_VERSION}, {"mixing", contents.mixing}};
  return report::filled(frame, {{"{{title}}", report::escaped(contents.title)},
                                {"{{version}}", WEFT_VERSION},
                                {"{{style}}", style},
                                {"{{data}}", report::script_data(data)},
                                {"{{engine}}", base64(contents.engine)},
                                {"{{model}}", base64(contents.model)},
                                {"{{script}}", script}});
}

bool is_page(const std::string& text) {
  return std::string_view(text).substr(0, 1000).find(generator) != std::string_view::npos;
}

}  // namespace page
