#include "rows/row_folders.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "rows/picture_files.h"
#include "rows/row_file.h"
#include "weft/detail/utf8_path.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

namespace fs = std::filesystem;

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_named_like_text(const fs::path& file) {
  static constexpr const char* endings[] = {".txt", ".md",  ".rst", ".html", ".htm", ".json", ".jsonl",
                                            ".csv", ".tsv", ".xml", ".yaml", ".yml", ".ini",  ".log"};
  const std::string name = in_lower_case(name_of(file.filename())), ending = in_lower_case(name_of(file.extension()));
  return name.rfind("readme", 0) == 0 || name.rfind("license", 0) == 0 ||
         std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

// Whether the file is a picture or a sound. Returns false if the file can't be read. In this case, the code that reads
// the rows reports the problem.
bool is_numbers(const fs::path& file) try {
  return is_file_of_numbers(bytes_of(name_of(file)).view());
} catch (const Error&) {
  return false;
}

}  // namespace

bool is_hidden(const fs::path& file) {
  const std::string name = in_lower_case(name_of(file.filename()));
  return name[0] == '.' || name == "thumbs.db" || name == "desktop.ini";
}

std::int64_t remove_other_files(std::vector<fs::path>& files) {
  const auto all = std::ssize(files);
  files.erase(std::remove_if(files.begin(), files.end(), is_hidden), files.end());
  const auto texts = std::count_if(files.begin(), files.end(), is_named_like_text);
  const auto other = std::find_if(files.begin(), files.end(), [](const fs::path& file) {
    std::error_code is_none;  // a dangling link
    return fs::is_regular_file(file, is_none) && !is_named_like_text(file);
  });
  if (2 * texts <= std::ssize(files) && texts > 0 && other != files.end() && is_numbers(*other))
    files.erase(std::remove_if(files.begin(), files.end(), is_named_like_text), files.end());
  return all - std::ssize(files);
}

}  // namespace weft::detail
