// The steps of begin() are ordered so that the process may end after any of them; see "A run's folder" in
// models/design/checkpoint.md.
#include "weft/run_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "weft/detail/utf8_path.h"
#include "weft/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using detail::name_of, detail::path_of;

// All entries of a run's folder; run.json is moved last. In a run of an earlier version of weft, the checkpoint is in
// the folder itself (former_names). Any other entry does not belong to the run.
const char* const names[] = {"last", "best", "metrics.jsonl", "run.json"};
const char* const former_names[] = {"model.safetensors", "training.safetensors", "config.json"};

std::string model_in(const std::string& folder) { return folder + "/model.safetensors"; }
std::string aside(const std::string& folder) { return folder + "/replaced"; }         // a complete run
std::string on_the_way(const std::string& folder) { return folder + "/.replacing"; }  // a part of a run

// Whether this entry exists. A dangling link counts as existing.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path_of(path), ignored));
}

void move_entry(const std::string& from, const std::string& to) { fs::rename(path_of(from), path_of(to)); }

std::string report_in(const std::string& folder) { return folder + "/report.html"; }

// Whether weft report wrote the file. Such a file says so near its beginning.
bool is_report(const std::string& path) {
  std::ifstream file(path_of(path), std::ios::binary);
  std::string beginning(1000, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  return beginning.find("<meta name=\"generator\" content=\"weft report") != std::string::npos;
}

// If `former` is true, also moves the files of a run of an earlier version.
void move_all(const std::string& from, const std::string& to, bool former) {
  if (is_report(report_in(from))) move_entry(report_in(from), report_in(to));
  for (const char* name : former_names)
    if (former && is_there(from + "/" + name)) move_entry(from + "/" + name, to + "/" + name);
  for (const char* name : names)
    if (is_there(from + "/" + name)) move_entry(from + "/" + name, to + "/" + name);
}

// Moves entries from `.replacing/` back. Each entry is in exactly one of the two places.
void put_back(const std::string& folder) {
  if (!is_there(on_the_way(folder))) return;
  move_all(on_the_way(folder), folder, true);
  fs::remove_all(path_of(on_the_way(folder)));
}

// Removes the run in the folder and restores the one in `replaced/`. run.json is removed first, because without it the
// run in `replaced/` is the valid one.
void abandon(const std::string& folder) {
  fs::remove(path_of(run_path(folder)));
  for (const char* name : names) fs::remove_all(path_of(folder + "/" + name));
  if (is_report(report_in(folder))) fs::remove(path_of(report_in(folder)));
  move_entry(aside(folder), on_the_way(folder));
  put_back(folder);
}

void set_aside(const std::string& folder) {
  fs::create_directory(path_of(on_the_way(folder)));
  move_all(folder, on_the_way(folder), is_there(model_in(folder)) || is_there(folder + "/training.safetensors"));
  move_entry(on_the_way(folder), aside(folder));
}

// Completes or undoes what a killed process had begun.
void recover(const std::string& folder) {
  put_back(folder);
  if (!is_there(aside(folder))) return;
  if (is_there(model_in(last_path(folder)))) fs::remove_all(path_of(aside(folder)));
  else if (!is_there(run_path(folder))) abandon(folder);
}

const std::string& made(const std::string& folder) {
  std::error_code error;
  if (fs::is_symlink(path_of(folder), error) && !fs::exists(path_of(folder), error))
    throw Error("can't make the folder \"" + folder + "\": it is a link to \"" +
                name_of(fs::read_symlink(path_of(folder), error)) + "\", which doesn't exist");
  fs::create_directories(path_of(folder), error);
  if (error) throw Error("can't make the folder \"" + folder + "\": " + error.message());
  return folder;
}

template <class Body>
void with_errors(const std::string& folder, Body body) {
  try {
    body();
  } catch (const fs::filesystem_error& error) {
    throw Error("can't write \"" + folder + "\": " + error.code().message());
  }
}

}  // namespace

std::string best_path(const std::string& folder) { return folder + "/best"; }
std::string last_path(const std::string& folder) { return folder + "/last"; }
std::string state_path(const std::string& folder) { return last_path(folder) + "/training.safetensors"; }
std::string metrics_path(const std::string& folder) { return folder + "/metrics.jsonl"; }
std::string run_path(const std::string& folder) { return folder + "/run.json"; }

std::string checkpoint_folder(const std::string& folder, const std::string& which) {
  if (!which.empty() && which != "best" && which != "last")
    throw Error("expected the checkpoint \"best\" or \"last\", got \"" + which + "\"");
  // A run that has not saved a checkpoint yet uses the checkpoint of the run that it replaces.
  const bool replacing = is_there(aside(folder)) && !is_there(model_in(last_path(folder)));
  for (const std::string& run : {replacing ? aside(folder) : folder, on_the_way(folder)}) {
    if (which.empty() && is_there(model_in(run))) return run;
    for (const char* name : {"best", "last"})
      if ((which.empty() || which == name) && is_there(model_in(run + "/" + name))) return run + "/" + name;
  }
  if (is_there(run_path(folder)))
    throw Error("the run in \"" + folder + "\" has not saved a " + (which.empty() ? "" : which + " ") +
                "checkpoint yet");
  return which.empty() ? folder : folder + "/" + which;
}

std::string saved_run(const std::string& folder) {
  for (const std::string& path :
       {model_in(last_path(folder)), state_path(folder), model_in(best_path(folder)), model_in(folder),
        folder + "/training.safetensors", aside(folder), on_the_way(folder)})
    if (is_there(path)) return path;
  const bool of_no_run = is_there(metrics_path(folder)) && !is_there(run_path(folder));
  return of_no_run ? metrics_path(folder) : "";
}

RunFolder::RunFolder(const std::string& path) : path_(path), lock_(made(path)) {
  for (const std::string& each : {path, best_path(path), last_path(path)}) os::remove_abandoned_files(each);
  with_errors(path_, [&] { recover(path_); });
}

RunFolder::~RunFolder() {
  try {
    if (is_there(aside(path_)) && !is_there(state_path(path_))) abandon(path_);
  } catch (const std::exception&) {  // the next process that opens the folder recovers it
  }
}

void RunFolder::begin(const std::string& description) {
  with_errors(path_, [&] {
    if (is_there(aside(path_))) abandon(path_);
    if (!saved_run(path_).empty()) set_aside(path_);
    else if (is_there(run_path(path_))) fs::remove(path_of(metrics_path(path_)));
  });
  describe(description);
}

void RunFolder::describe(const std::string& description) {
  os::AtomicFile file(run_path(path_));
  file.write(description.data(), description.size());
  file.commit();
}

void RunFolder::saved() {
  std::error_code left_for_the_next;
  fs::remove_all(path_of(aside(path_)), left_for_the_next);
}

}  // namespace weft
