// The files from which a page is made. The build embeds them in the command.
#pragma once

namespace report {

extern const char* const page_frame;   // page.html
extern const char* const page_style;   // page.css
extern const char* const page_script;  // the scripts, one after the other

}  // namespace report
