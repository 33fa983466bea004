// Options of the subcommands. Each value is checked when it is read. Numbers must be decimal and within the range that
// the help shows. A name or a file must not be empty, because an empty value often comes from an unset shell variable.
#pragma once
#include <weft/precision.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "console/number.h"

// Adds the option `name`. `take` reads its value, which the help calls `type`. An error that `take` throws is reported
// as a usage error. If the option is given more than once, the last one counts.
CLI::Option* add_option(CLI::App& command, const std::string& name, const std::string& type,
                        std::function<void(const std::string&)> take, const std::string& help);

// Returns the text for the help, which is "meaning (range; default: usual)" without empty parts.
std::string help_text(const std::string& meaning, const std::string& range, const std::string& usual);

// Adds an option for a number, which is passed to `take`.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, std::function<void(T)> take, const Range<T>& range,
                        const std::string& meaning, const std::string& usual = "") {
  const auto read = [take, range](const std::string& typed) { take(number_in(range, typed)); };
  return add_option(command, name, std::is_integral_v<T> ? "N" : "X", read, help_text(meaning, describe(range), usual));
}

// Adds an option for a number, which is stored in `target`. The present value of `target` is the default.
template <class T>
requires std::is_arithmetic_v<T> CLI::Option* add_number(CLI::App& command, const std::string& name, T& target,
                                                         const Range<std::type_identity_t<T>>& range,
                                                         const std::string& meaning) {
  const std::function<void(T)> take = [&target](T value) { target = value; };
  return add_number(command, name, take, range, meaning, as_text(target))->default_str(as_text(target));
}

// Adds an option for a number, which is stored in `target`. `usual` describes the default.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<T>& target,
                        const Range<std::type_identity_t<T>>& range, const std::string& meaning,
                        const std::string& usual = "") {
  const std::function<void(T)> take = [&target](T value) { target = value; };
  return add_number(command, name, take, range, meaning, usual);
}

// Adds an option for a name, file or folder, which must not be empty. `type` describes it. The present value of
// `target` is the default, unless it is empty.
CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning);

// Adds the same option with a check. An error that `check` throws is reported as a usage error, and its message should
// say what was expected.
CLI::Option* add_text(CLI::App& command, const std::string& name, const std::string& type, std::string& target,
                      const std::string& meaning, std::function<void(const std::string&)> check);

// Adds an option for texts that must not be empty. Each use of the option adds one text.
CLI::Option* add_texts(CLI::App& command, const std::string& name, const std::string& type,
                       std::vector<std::string>& target, const std::string& meaning);

// Adds an option for the folder of a run or a checkpoint. The path of a checkpoint's model.safetensors or config.json
// is accepted, too.
CLI::Option* add_checkpoint(CLI::App& command, const std::string& name, std::string& target,
                            const std::string& meaning);
// Adds the same option for several folders.
CLI::Option* add_checkpoints(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                             const std::string& meaning);

// Adds --threads, for every command that computes.
CLI::Option* add_threads(CLI::App& command);
// Adds --precision, for every command that runs a model. `usual` describes the default.
CLI::Option* add_precision(CLI::App& command, std::function<void(weft::Precision)> set, const std::string& usual);
