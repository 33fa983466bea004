#include "data/output.h"

#include <weft/error.h>
#include <weft/os.h>

#include <csignal>
#include <filesystem>
#include <iostream>

namespace data {
namespace {

volatile std::sig_atomic_t stop_signal = 0;
extern "C" void stop_generating(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void prepare_folder(const std::string& folder, const std::vector<std::string>& files, bool overwrite) {
  for (const std::string& file : files)
    if (!overwrite && std::filesystem::exists(file))
      throw weft::Error("\"" + file + "\" already exists: --overwrite replaces it");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw weft::Error("can't make the folder \"" + folder + "\": " + error.message());
  weft::os::remove_abandoned_files(folder);
}

void catch_signals() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, stop_generating);
}

int stopped_by() { return stop_signal; }

int exit_stopped() {
  std::cerr << "weft: stopped; nothing was written" << std::endl;
  return 128 + stop_signal;
}

}  // namespace data
