#include "console/options.h"

#include <weft/context.h>
#include <weft/error.h>

#include <filesystem>

namespace {

// Returns the path itself, or the folder that contains it if it is a file of a checkpoint.
std::string checkpoint_folder(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none) || std::filesystem::is_directory(path, none)) return path;
  const std::filesystem::path file(path);
  if (file.filename() != "model.safetensors" && file.filename() != "config.json")
    throw weft::Error("expected the folder of a run or a checkpoint, got the file \"" + path + "\"");
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

std::string not_empty(const std::string& typed, const std::string& type) {
  if (typed.empty()) throw weft::Error("expected " + type + ", got nothing (\"\")");
  return typed;
}

// Adds an option with any number of values. `made_of` converts each value.
CLI::Option* add_all(CLI::App& command, const std::string& name, const std::string& type,
                     std::vector<std::string>& target, const std::string& meaning,
                     std::function<std::string(const std::string&)> made_of) {
  const auto read = [name, type, made_of, &target](const CLI::results_t& typed) {
    target.clear();
    try {
      for (const std::string& text : typed) target.push_back(made_of(not_empty(text, type)));
    } catch (const weft::Error& error) {
      throw CLI::ValidationError(name, error.what());
    }
    return true;
  };
  return command.add_option(name, CLI::callback_t(read), meaning)->type_name(type)->take_all()->allow_extra_args(false);
}

}  // namespace

CLI::Option* add_option(CLI::App& command, const std::string& name, const std::string& type,
                        std::function<void(const std::string&)> take, const std::string& help) {
  const auto read = [name, take](const CLI::results_t& typed) {
    try {
      take(typed.front());
    } catch (const weft::Error& error) {
      throw CLI::ValidationError(name.substr(0, name.find(',')), error.what());
    }
    return true;
  };
  return command.add_option(name, CLI::callback_t(read), help)->type_name(type)->take_last();
}

std::string help_text(const std::string& meaning, const std::string& range, const std::string& usual) {
  const std::string fallback = usual.empty() ? "" : "default: " + usual;
  if (range.empty() && fallback.empty()) return meaning;
  return meaning + " (" + range + (range.empty() || fallback.empty() ? "" : "; ") + fallback + ")";
}

CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning) {
  return add_text(command, name, type, target, meaning, [](const std::string&) {});
}

CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning, std::function<void(const std::string&)> check) {
  const auto read = [type, check, &target](const std::string& typed) {
    check(not_empty(typed, type));
    target = typed;
  };
  return add_option(command, name, type, read, help_text(meaning, "", target))->default_str(target);
}

CLI::Option* add_texts(CLI::App& command, const std::string& name, const std::string& type,
                       std::vector<std::string>& target, const std::string& meaning) {
  return add_all(command, name, type, target, meaning, [](const std::string& text) { return text; });
}

CLI::Option* add_checkpoints(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                             const std::string& meaning) {
  return add_all(command, name, "FOLDER", target, meaning, checkpoint_folder);
}
CLI::Option* add_checkpoint(CLI::App& command, const std::string& name, std::string& target,
                            const std::string& meaning) {
  const auto read = [&target](const std::string& typed) { target = checkpoint_folder(not_empty(typed, "FOLDER")); };
  return add_option(command, name, "FOLDER", read, meaning);
}

CLI::Option* add_threads(CLI::App& command) {
  const std::function<void(int)> take = [](int count) { weft::set_default_threads(count); };
  return add_number<int>(command, "--threads", take, {1, 1024}, "Number of threads", "all that this process may use");
}

CLI::Option* add_precision(CLI::App& command, std::function<void(weft::Precision)> set, const std::string& usual) {
  std::string names;
  for (const std::string& name : weft::precisions()) names += (names.empty() ? "" : "|") + name;
  const auto read = [set](const std::string& typed) { set(weft::precision_from_name(typed)); };
  return add_option(command, "--precision", names, read, help_text("Precision of the computation", "", usual));
}
