// weft completion: prints a script that lets a shell complete weft's subcommands and options.
#include <weft/error.h>

#include <iostream>
#include <memory>

#include "console/command.h"
#include "console/options.h"

namespace {

// Prints two lines for each command: its subcommands and its options. The keys ("weft", "weft-train", "weft-data-news")
// have no spaces, because zsh does not accept them.
void print_words(const CLI::App& app, const std::string& path) {
  std::cout << "_weft_commands[" << path << "]='";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    std::cout << command->get_name() << ' ';
  std::cout << "'\n_weft_options[" << path << "]='";
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) std::cout << "--" << name << ' ';
  std::cout << "'\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    print_words(*command, path + "-" + command->get_name());
}

// Uses only functions that bash and zsh both have. A word that doesn't begin with "-" is completed as a subcommand, a
// file or a folder.
constexpr const char* function = R"sh(_weft() {
  local at=weft cur=${COMP_WORDS[COMP_CWORD]} i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case " ${_weft_commands[$at]}" in *" ${COMP_WORDS[i]} "*) at+="-${COMP_WORDS[i]}" ;; esac
  done
  case $cur in
    -*) COMPREPLY=($(compgen -W "${_weft_options[$at]}" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "${_weft_commands[$at]}" -- "$cur") $(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _weft weft
)sh";

int print_completion(const CLI::App& weft, const std::string& shell) {
  if (shell == "zsh") std::cout << "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n";
  std::cout << "declare -A _weft_commands _weft_options\n";
  print_words(weft, "weft");
  std::cout << function;
  return 0;
}

}  // namespace

Command completion_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command =
      weft.add_subcommand("completion", "Print a script that completes subcommands and options in a shell");
  const auto shell = std::make_shared<std::string>();
  add_text(*command, "shell", "bash|zsh", *shell, "Shell that the script is for", [](const std::string& name) {
    if (name != "bash" && name != "zsh") throw weft::Error("expected bash or zsh, got \"" + name + "\"");
  })->required();
  command->footer(
      "Examples:\n"
      "  weft completion bash >> ~/.bashrc\n"
      "  weft completion zsh >> ~/.zshrc");
  return {command, [&weft, shell] { return print_completion(weft, *shell); }};
}
