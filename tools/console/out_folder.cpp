#include "console/out_folder.h"

#include <weft/error.h>
#include <weft/run_folder.h>

#include <filesystem>

namespace fs = std::filesystem;
using weft::Error;

std::string parent_of(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).parent_path().string();
}

void OutFolder::check() const {
  std::error_code error;
  for (const std::string& read : reads)  // `read` may be a folder or a file
    if (!read.empty() && (fs::equivalent(folder, read, error) ||
                          (fs::is_regular_file(read, error) && fs::equivalent(folder, parent_of(read), error))))
      throw Error(name + " names \"" + read + "\", the checkpoint to be " + done + ": give another folder");
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw Error(name + " names the file \"" + folder + "\", expected a folder");
  if (fs::exists(weft::run_path(folder), error))
    throw Error(name + " names the folder of a run, \"" + folder + "\": give another folder");
  const std::string parent = parent_of(folder);
  for (const std::string& own : {weft::best_path(parent), weft::last_path(parent)})
    if (fs::exists(weft::run_path(parent), error) && fs::equivalent(folder, own, error))
      throw Error(name + " names a checkpoint of the run \"" + parent + "\", \"" + folder + "\": give another folder");
  for (const std::string& file : files)
    if (!overwrite && fs::exists(fs::symlink_status(folder + "/" + file, error)))
      throw Error("\"" + folder + "\" already contains a checkpoint, or a part of one (" + file +
                  "): --overwrite replaces it");
}
