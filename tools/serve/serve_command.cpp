// weft serve: answers requests over HTTP. The other files of this folder need cpp-httplib.
#include <weft/error.h>

#include <cstdlib>
#include <iostream>
#ifdef WEFT_HTTPLIB
#include <chrono>
#include <thread>
#endif

#include "console/command.h"
#include "console/options.h"
#include "serve/settings.h"
#ifdef WEFT_HTTPLIB
#include "console/visible.h"
#include "serve/http_server.h"
#include "serve/memory_reserve.h"
#include "serve/signals.h"
#endif

namespace serve {
namespace {

#ifdef WEFT_HTTPLIB

// Says on standard error what a reload changed.
void reload(Models& models) {
  const Json result = models.reload();
  for (const Json& name : result["reloaded"])
    std::cerr << "weft: reloaded the model \"" + visible(name.get<std::string>()) + "\"" << std::endl;
  for (const auto& [name, error] : result["errors"].items())
    std::cerr << "weft: the model \"" + visible(name) + "\" is unchanged: " + visible(error.get<std::string>())
              << std::endl;
}

// Ends the process after some seconds, even if clients that send or read very slowly still keep connections open.
void end_soon(int code) {
  std::thread([code] {
    std::this_thread::sleep_for(std::chrono::seconds(8));
    std::_Exit(code);
  }).detach();
}

int run(const Settings& settings) {
  block_signals();
  (void)keep_memory_reserve();
  Metrics metrics;
  Models models(settings, metrics);
  States states(settings);
  HttpServer server(settings, models, states, metrics);
  const int port = server.start();
  const bool is_ipv6 = settings.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + settings.host + "]" : settings.host;
  if (!(std::cout << "listening on http://" << host << ":" << port << std::endl))
    throw weft::Error("can't write to standard output");
  while (wait_for_signal() == Wish::reload) reload(models);
  unblock_stop_signals();
  if (server.has_failed()) std::cerr << "weft: the system can't accept further connections" << std::endl;
  std::cerr << "weft: finishing the running requests; send the signal again to end immediately" << std::endl;
  server.drain();
  const int code = server.has_failed() ? 1 : 0;
  end_soon(code);
  return code;
}

#else

int run(const Settings&) {
  throw weft::Error(
      "this build has no server; build weft where cpp-httplib is installed (Debian: apt-get install "
      "libcpp-httplib-dev pkg-config)");
}

#endif

int serve(Settings settings) {
  if (settings.models.empty()) throw UsageError("give the folder of a run or of a checkpoint");
  if (const char* key = std::getenv("WEFT_API_KEY"); settings.api_key.empty() && key != nullptr) settings.api_key = key;
  return run(settings);
}

void add_limits(CLI::App& command, Settings& s) {
  add_number(command, "--max-batch", s.max_batch, {1, 1024}, "Number of texts that a model continues together");
  add_number(command, "--max-queue", s.max_queue, {1}, "Number of texts that may wait for a model");
  add_number(command, "--max-memory", s.max_memory, {0},
             "Maximum memory for the texts that are continued, in bytes. Further texts wait. 0: half of the machine's "
             "memory");
  add_number(command, "--max-tokens", s.max_tokens, {1}, "Maximum for max_tokens, the number of new symbols of a text");
  add_number(command, "--max-prompt", s.max_prompt, {1}, "Maximum size of a prompt or another text, in bytes");
  add_number(command, "--max-body", s.max_body, {1}, "Maximum size of the body of a request, in bytes");
  add_number(command, "--connections", s.connections, {1, 512},
             "Number of connections that are served at the same time. Further connections wait");
  add_number(command, "--timeout", s.timeout, {.lowest = 0, .highest = 1e6, .above = true},
             "Maximum time for a request, in seconds. Its texts then end with an error");
  add_number(command, "--max-states", s.max_states, {1, 100000},
             "Maximum number of saved states. Those that were not used for the longest time are deleted");
  add_number(command, "--drain", s.drain, {0, 1e6},
             "Time that running requests have after SIGTERM or SIGINT, in seconds");
}

}  // namespace
}  // namespace serve

Command serve_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("serve", "Answer requests over HTTP, in the form of OpenAI's API");
  const auto s = std::make_shared<serve::Settings>();
  command
      ->add_option("models", s->models,
                   "Folders of runs or checkpoints. NAME is the model's name in requests (default: the name of the "
                   "folder)")
      ->type_name("[NAME=]DIR ...");
  add_text(*command, "--host", "ADDRESS", s->host,
           "Address to listen on; 0.0.0.0 accepts connections from other machines");
  add_number(*command, "--port", s->port, {0, 65535}, "Port to listen on; 0: any free port");
  add_text(*command, "--api-key", "KEY", s->api_key,
           "Answer only requests with the header Authorization: Bearer KEY. The variable WEFT_API_KEY does the same, "
           "and does not show the key in the list of processes");
  add_text(*command, "--states", "DIR", s->states,
           "Folder for the states of texts that requests save, so that later requests can go on from there");
  serve::add_limits(*command, *s);
  add_precision(
      *command, [s = s.get()](weft::Precision given) { s->precision = given; }, "f32; bf16 for a quantized checkpoint");
  add_threads(*command);
  command->footer(
      "The server prints its address when it is ready. SIGHUP reloads the checkpoints whose files have\n"
      "changed. SIGTERM and SIGINT (Ctrl-C) end the server after the running requests.\n"
      "Examples:\n"
      "  weft serve book\n"
      "  weft serve story=runs/book news=runs/packages --port 8000\n"
      "  curl http://127.0.0.1:8080/v1/completions --json '{\"prompt\": \"ROMEO:\", \"max_tokens\": 100}'");
  return {command, [s] { return serve::serve(*s); }};
}
