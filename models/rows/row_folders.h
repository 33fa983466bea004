// Selects, in folders, the files that are rows.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace weft::detail {

// Whether operating systems hide the file from users, as they hide .DS_Store and Thumbs.db.
bool is_hidden(const std::filesystem::path& file);

// Removes hidden files. Also removes files that are named like texts, such as README or notes.txt, if they are not the
// majority of the files and the first other file is a picture or a sound. Returns the number of removed files.
std::int64_t remove_other_files(std::vector<std::filesystem::path>& files);

}  // namespace weft::detail
