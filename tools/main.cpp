// weft: trains, evaluates and runs gMLP, TNN and FNet.
#include <weft/context.h>
#include <weft/error.h>
#include <weft/version.h>

#include <iostream>

#include "command.h"

namespace {

// Errors are one line.
int fail(std::string what, int code) {
  for (char& c : what)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "weft: " << what << std::endl;
  return code;
}

// A mistyped flag is the likelier reason than what CLI11 misses because of it.
std::string describe(const CLI::App& weft, const CLI::ParseError& error) {
  for (const CLI::App* command : weft.get_subcommands())
    for (const std::string& argument : command->remaining())
      if (argument.rfind('-', 0) == 0) return "unknown argument " + argument;
  const std::vector<std::string> rest = weft.remaining();
  return rest.empty() ? error.what() : "unknown command " + rest.front();
}

int run(int argc, char** argv) {
  CLI::App weft("weft trains and runs gMLP, TNN and FNet on CPUs.", "weft");
  weft.set_version_flag("--version", "weft " WEFT_VERSION);
  weft.require_subcommand(1);
  weft.footer("weft COMMAND --help has each command's options and an example.");
  const Command commands[] = {train_command(weft), classify_command(weft), generate_command(weft), eval_command(weft),
                              info_command(weft)};
  try {
    weft.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return weft.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(describe(weft, error) + " (see --help)", 2);
  }
  for (const Command& command : commands)
    if (command.app->parsed()) {
      const int code = command.run();
      if (!std::cout.flush()) throw weft::Error("can't write to standard output");
      return code;
    }
  return 2;
}

}  // namespace

void add_threads_option(CLI::App& command) {
  command
      .add_option_function<int>(
          "--threads", [](int count) { weft::Context::current().set_threads(count); },
          "Threads to compute with (default: as many as this process may use)")
      ->check(CLI::Range(1, 1024));
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", 1);
  } catch (const std::exception& error) {
    return fail(error.what(), 1);
  }
}
