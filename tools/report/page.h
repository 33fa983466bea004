// The page of a report. It is a single HTML file that contains everything it needs.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/json.h"

namespace report {

// Returns page.html with style, scripts and `data` inserted. The title and each "<" in the data are escaped, so that
// they can't end an element.
std::string page(const std::string& title, const Json& data);

// Functions for a page of HTML. escaped() returns the text in valid UTF-8, without characters that have a meaning in
// HTML. script_data() returns JSON in valid UTF-8 that contains neither "</script" nor "<!--".
std::string escaped(const std::string& text);
std::string script_data(const Json& data);
// Replaces each place in the frame by its part. The parts must be in the order of their places, so that inserted text
// is not searched.
std::string filled(std::string_view frame, const std::vector<std::pair<std::string_view, std::string>>& parts);

// Whether the text is a report's page.
bool is_page(const std::string& text);

}  // namespace report
