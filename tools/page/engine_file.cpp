#include "page/engine_file.h"

#include <weft/error.h>
#include <weft/os.h>

#include <filesystem>

namespace page {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "weft-page.wasm.gz";

// Returns the path of the installed file, which is relative to the command, so that both can be moved together.
std::string installed_file() {
  const std::vector<std::string> files = weft::os::program_files();
  if (files.empty()) return file_name;
  std::error_code error;
  const fs::path command = fs::canonical(files.front(), error);
  return error ? file_name : (command.parent_path() / WEFT_PAGE_FOLDER / file_name).lexically_normal().string();
}

}  // namespace

std::string read_engine(const std::string& given) {
  const std::string path = given.empty() ? installed_file() : given;
  if (given.empty() && !fs::exists(path))
    throw weft::Error("found no engine for web pages at \"" + path +
                      "\": build it in weft's source folder with \"cmake --preset wasm && cmake --build --preset wasm "
                      "--target weft-page\", and give --engine build-wasm/tools/page/engine/" +
                      file_name);
  std::string engine = weft::os::read_file(path);
  if (engine.rfind("\x1f\x8b", 0) != 0)
    throw weft::Error("\"" + path + "\" is not " + file_name + ": expected a file that gzip compressed");
  return engine;
}

}  // namespace page
