// The files from which a page is made. The build embeds them in the command.
#pragma once

namespace page {

extern const char* const frame;   // page.html
extern const char* const style;   // page.css
extern const char* const script;  // engine.js, report/grid.js, mixing.js and page.js, one after the other

}  // namespace page
