// Options of the subcommands. Each value is checked as it is read: numbers are decimal and in the range that the help
// names, names and files are not empty (an unset variable of the shell is).
#pragma once
#include <weft/precision.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "console/number.h"

// The option `name`, whose value, a `type`, `take` reads: what it throws is an error of usage. The last one counts if it
// comes more than once.
CLI::Option* add_option(CLI::App& command, const std::string& name, const std::string& type,
                        std::function<void(const std::string&)> take, const std::string& help);

// The help's text: "meaning (range; default: usual)", without what is empty.
std::string help_text(const std::string& meaning, const std::string& range, const std::string& usual);

// A number that `take` takes.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, std::function<void(T)> take, const Range<T>& range,
                        const std::string& meaning, const std::string& usual = "") {
  const auto read = [take, range](const std::string& typed) { take(number_in(range, typed)); };
  return add_option(command, name, std::is_integral_v<T> ? "N" : "X", read, help_text(meaning, describe(range), usual));
}

// Into `target`, whose value now is the default.
template <class T>
requires std::is_arithmetic_v<T> CLI::Option* add_number(CLI::App& command, const std::string& name, T& target,
                                                         const Range<std::type_identity_t<T>>& range,
                                                         const std::string& meaning) {
  const std::function<void(T)> take = [&target](T value) { target = value; };
  return add_number(command, name, take, range, meaning, as_text(target))->default_str(as_text(target));
}

// Into `target`; `usual` says what happens without.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<T>& target,
                        const Range<std::type_identity_t<T>>& range, const std::string& meaning,
                        const std::string& usual = "") {
  const std::function<void(T)> take = [&target](T value) { target = value; };
  return add_number(command, name, take, range, meaning, usual);
}

// A name, file or folder, as `type` says: not empty. The target's value now is the default, unless it is empty.
CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning);

// The same of a text that `check` takes: what it throws is an error of usage, and the message says what was expected.
CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning, std::function<void(const std::string&)> check);

// Texts that aren't empty, one each time that the option is given.
CLI::Option* add_texts(CLI::App& command, const std::string& name, const std::string& type,
                       std::vector<std::string>& target, const std::string& meaning);

// A folder that weft train wrote; also by the name of its model.safetensors or config.json.
CLI::Option* add_checkpoint(CLI::App& command, const std::string& name, std::string& target,
                            const std::string& meaning);
// Several.
CLI::Option* add_checkpoints(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                             const std::string& meaning);

// --threads, for every command that computes.
CLI::Option* add_threads(CLI::App& command);
// --precision, for every command that runs a model; `usual` says what happens without.
CLI::Option* add_precision(CLI::App& command, std::function<void(weft::Precision)> set, const std::string& usual);
