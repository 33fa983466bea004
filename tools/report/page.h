// The page of a report. It is a single HTML file that contains everything it needs.
#pragma once
#include <string>

#include "report/json.h"

namespace report {

// Returns page.html with style, scripts and `data` inserted. The title and each "<" in the data are escaped, so that
// they can't end an element.
std::string page(const std::string& title, const Json& data);

// Whether the text is such a page.
bool is_page(const std::string& text);

}  // namespace report
