// A web page that runs a model. It is a single HTML file that contains everything it needs.
#pragma once
#include <string>

#include "report/json.h"

namespace page {

struct Contents {
  std::string title;
  std::string kind;     // what the model does, for the reader of the page
  std::string engine;   // weft-page.wasm, compressed by gzip
  std::string model;    // model.safetensors
  report::Json mixing;  // how the layers mix tokens, as in mixing.js, or null
};

// Returns page.html with style, script and contents inserted. The title is escaped, so that it can't end an element.
std::string make_page(const Contents& contents);

// Whether the text is such a page.
bool is_page(const std::string& text);

}  // namespace page
