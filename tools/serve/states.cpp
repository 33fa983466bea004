#include "serve/states.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "serve/texts.h"

namespace serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t id_digits = 32;
constexpr char hexadecimal[] = "0123456789abcdef";
constexpr const char* extension = ".json";

// An id has 128 random bits, so nobody can guess it.
std::string new_id() {
  std::random_device random;
  std::string id;
  for (std::size_t i = 0; i < id_digits; ++i) id += hexadecimal[random() % 16];
  return id;
}

// Whether a text from a client has the form of an id. An id is also the name of a file.
bool is_id(const std::string& text) {
  return text.size() == id_digits && text.find_first_not_of(hexadecimal) == std::string::npos;
}

HttpError unknown_state() {
  return {404, "state_not_found", "state: there is no such state; it may have been deleted in favor of newer ones",
          "state"};
}

// Without valid symbols, the file is damaged, which is not the client's fault.
std::vector<std::int64_t> symbols_of(const Json& saved, const weft::Tokenizer& tokenizer) {
  try {
    return given_symbols(saved, "state", tokenizer);
  } catch (const HttpError&) {
    throw unknown_state();
  }
}

}  // namespace

// Only the server's user may read what its clients wrote.
States::States(const Settings& settings) : settings_(settings) {
  if (settings.states.empty()) return;
  std::error_code error;
  if (fs::create_directories(settings.states, error))
    fs::permissions(settings.states, fs::perms::owner_all, fs::perm_options::replace, error);
  if (error) throw weft::Error("can't create the folder \"" + settings.states + "\": " + error.message());
}

void States::check_enabled() const {
  if (settings_.states.empty())
    throw HttpError(400, "no_states", "this server saves no states; it was started without --states", "state");
}

std::string States::save(const std::string& model, const weft::Tokenizer& tokenizer,
                         const std::vector<std::int64_t>& symbols) {
  check_enabled();
  const std::lock_guard lock(mutex_);
  const std::string id = new_id();
  const auto kept = std::min<std::ptrdiff_t>(std::ssize(symbols), settings_.max_prompt);
  const Json state = {{"model", model},
                      {"vocabulary", tokenizer.size()},
                      {"symbols", std::vector<std::int64_t>(symbols.end() - kept, symbols.end())}};
  try {
    weft::os::AtomicFile file(settings_.states + "/" + id + extension);
    const std::string text = json_text(state);
    file.write(text.data(), text.size());
    file.commit();
  } catch (const weft::Error& error) {
    std::cerr << "weft: can't save a state: " << error.what() << std::endl;
    throw HttpError(507, "state_not_saved", "the server can't save the state", "save");
  }
  remove_oldest();
  return id;
}

// Another process may remove files meanwhile.
void States::remove_oldest() const {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(settings_.states, ignored))
    if (is_id(entry.path().stem().string()) && entry.path().extension() == extension)
      files.emplace_back(entry.last_write_time(ignored), entry.path());
  std::sort(files.begin(), files.end());
  for (std::ptrdiff_t i = 0; i < std::ssize(files) - settings_.max_states; ++i)
    fs::remove(files[static_cast<std::size_t>(i)].second, ignored);
}

std::vector<std::int64_t> States::load(const std::string& id, const std::string& model,
                                       const weft::Tokenizer& tokenizer) const {
  check_enabled();
  if (!is_id(id)) throw unknown_state();
  const fs::path path = settings_.states + "/" + id + extension;
  std::error_code ignored;
  std::ifstream file(path);
  if (!file.is_open() && fs::exists(fs::symlink_status(path, ignored)))  // for example, too many files are open
    throw HttpError(503, "state_not_read", "the server can't read the state", "state");
  std::string of;
  std::int64_t vocabulary = 0;
  Json saved;
  try {
    const Json state = Json::parse(file);
    of = state.at("model").get<std::string>();
    vocabulary = state.at("vocabulary").get<std::int64_t>();
    saved = state.at("symbols");
  } catch (const Json::exception&) {
    throw unknown_state();
  }
  if (of != model)
    throw wrong("state", "expected a state of the model \"" + model + "\", got one of the model \"" + of + "\"");
  if (vocabulary != tokenizer.size())
    throw wrong("state", "the model's tokenizer has changed since the state was saved");
  const std::vector<std::int64_t> symbols = symbols_of(saved, tokenizer);
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // it was used
  return symbols;
}

}  // namespace serve
