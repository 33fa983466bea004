// weft: trains, evaluates and runs gMLP, TNN and FNet.
#include <weft/context.h>
#include <weft/error.h>
#include <weft/version.h>

#include <algorithm>
#include <iostream>

#include "console/arguments.h"
#include "console/command.h"
#include "console/help.h"
#include "console/ranks.h"
#include "console/terminal.h"
#include "console/visible.h"
#include "options/tokenizer_options.h"
#include "pictures/decoders.h"

namespace {

// Prints the error as one line on rank 0, and returns the exit code. Also sends the error to the other ranks, unless
// `told` says that they already know about it.
int fail(weft::Ranks* ranks, std::string what, int code, bool told = false) {
  if (ranks != nullptr && !told) try {
      ranks->fail(what);
    } catch (const weft::Error& of_all) {
      what = of_all.what();
    }
  if (!is_first(ranks)) return code;
  for (char& c : what)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "weft: " << visible(what) << std::endl;
  return code;
}

// Runs the parsed command, or prints the requested help.
int run(int argc, char** argv, weft::Ranks* ranks) {
  register_optional_tokenizers();
  register_optional_decoders();
  CLI::App weft("weft trains and runs gMLP, TNN and FNet on CPUs.", "weft");
  weft.formatter(std::make_shared<HelpFormatter>());  // subcommands inherit it
  weft.allow_windows_style_options(false);            // else, on Windows, the path /run would be an option
  weft.set_help_flag("-h,--help", "Show this page");
  weft.set_version_flag("--version", "weft " WEFT_VERSION, "Show the version");
  weft.require_subcommand(1);
  weft.footer("weft COMMAND --help shows a command's options and an example.");
  const Command commands[] = {
#define WEFT_COMMAND(name) name##_command(weft, ranks),
#include "commands.def"
  };
  weft.add_subcommand("help", "Show this page, or the help page of a command")
      ->footer("Examples:\n  weft help\n  weft help train");
  try {
    weft.parse(arguments_for(weft, argc, argv));
  } catch (const CLI::Success& help) {
    if (ranks != nullptr) check_alike(*ranks, {{"command", "a help page"}});
    return weft.exit(help);
  } catch (const CLI::ParseError& error) {
    throw UsageError(describe(weft, error));
  }
  for (const Command& command : commands)
    if (command.app->parsed()) return command.run();
  return 2;
}

}  // namespace

int run_command(int argc, char** argv) {
  std::unique_ptr<weft::Ranks> ranks;
  try {
    prepare_standard_streams();
    weft::Context::current().set_log([](const std::string& line) { std::cerr << "weft: " << line << std::endl; });
    ranks = start_ranks(argc, argv);
    int code = run(argc, argv, ranks.get());
    if (!std::cout.flush()) throw weft::Error("can't write to standard output");
    if (ranks)
      for (const std::string& of_rank : ranks->gather(std::to_string(code))) code = std::max(code, std::stoi(of_rank));
    return code;
  } catch (const UsageError& error) {
    return fail(ranks.get(), error.what() + std::string(" (see --help)"), 2);
  } catch (const std::bad_alloc&) {
    return fail(ranks.get(), "out of memory", 1);
  } catch (const weft::RankError& error) {
    return fail(ranks.get(), error.what(), 1, true);
  } catch (const std::exception& error) {
    return fail(ranks.get(), error.what(), 1);
  }
}
