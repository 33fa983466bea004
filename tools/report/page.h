// The page of a report: one file with everything in it.
#pragma once
#include <string>

#include "report/json.h"

namespace report {

// page.html with style, scripts and `data` inserted. Text from outside can't end an element: the title is escaped, and
// so is each "<" in the data.
std::string page(const std::string& title, const Json& data);

// Whether the text is such a page.
bool is_page(const std::string& text);

}  // namespace report
