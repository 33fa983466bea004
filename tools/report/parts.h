// The files that a page is made of, as the build has embedded them.
#pragma once

namespace report {

extern const char* const page_frame;   // page.html
extern const char* const page_style;   // page.css
extern const char* const page_script;  // the scripts, one after the other

}  // namespace report
