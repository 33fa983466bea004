// The page of a report: one file with everything in it.
#pragma once
#include <string>

#include "report/json.h"

namespace report {

// page.html with style, scripts and `data` in it. What comes from outside can't end an element: the title is escaped, and
// of the data each "<".
std::string page(const std::string& title, const Json& data);

// Whether the file's text is such a page.
bool is_page(const std::string& text);

}  // namespace report
