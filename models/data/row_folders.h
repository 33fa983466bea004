// The files of folders that are rows.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace weft::detail {

// Whether systems hide the file from people: .DS_Store, Thumbs.db.
bool is_hidden(const std::filesystem::path& file);

// Removes hidden files. Beside pictures or sounds also those that are named like texts, such as README or notes.txt:
// these are no rows if the first other file is a picture or a sound, and if they are not the majority.
// Returns how many were removed.
std::int64_t remove_other_files(std::vector<std::filesystem::path>& files);

}  // namespace weft::detail
