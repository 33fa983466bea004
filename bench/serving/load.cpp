// weft-load-bench: clients of weft serve. Measures tokens per second and latencies, and checks each answer against the
// text that the library generates without a server.
#include <httplib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "machine/arguments.h"
#include "weft/checkpoint.h"
#include "weft/generate.h"
#include "weft/run_folder.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct Options : CommonOptions {
  std::string model, precision, host = "127.0.0.1", prompt = "\n", long_prompt;
  int port = 8080, clients = 8, server = 0;
  double seconds = 10;
  std::int64_t tokens = 64, texts = 16;
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The CPU time of this process in seconds.
double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// The resident memory of a process in MB; 0 if it is unknown.
double resident_megabytes(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) * 1e-6;
}

GenerateOptions generate_options(const Options& o, std::uint64_t seed) {
  GenerateOptions options;
  options.tokens = o.tokens;
  options.seed = seed;
  return options;
}

// The texts that the server has to send: text k has the seed k modulo the number of different texts. Also measures the
// tokens per second of this computation.
struct Expected {
  std::vector<std::string> texts;
  double tokens_per_second;
};

// The server replaces bytes that are not valid UTF-8, and a character of several symbols arrives as one part.
void check_encoding(const std::string& text) {
  try {
    (void)json(text).dump();
  } catch (const json::type_error&) {
    throw Error("expected a model whose texts are valid UTF-8, got one that generates other bytes");
  }
}

// Continues `clients` texts together until all texts are complete, as the server does. These are `texts` different
// texts, some of them several times if there are more clients.
Expected expected_texts(const Options& o) {
  const Checkpoint checkpoint = load_checkpoint(checkpoint_folder(o.model), Purpose::inference);
  if (!o.precision.empty()) checkpoint.model->set_precision(precision_from_name(o.precision));
  const std::int64_t all = std::max<std::int64_t>(o.texts, o.clients);
  Expected expected{std::vector<std::string>(static_cast<std::size_t>(all)), 0};
  const auto run = [&](std::int64_t texts) {
    GenerationBatch batch;
    for (std::int64_t begun = 0; begun < texts || batch.size() > 0;) {
      for (; begun < texts && batch.size() < o.clients; ++begun) {
        std::string& text = expected.texts[static_cast<std::size_t>(begun)];
        text.clear();
        const auto options = generate_options(o, static_cast<std::uint64_t>(begun % o.texts));
        batch.add(Generation(*checkpoint.model, *checkpoint.tokenizer, o.prompt, options),
                  [&text](const GeneratedSymbol& symbol) {
                    text += symbol.text;
                    return true;
                  });
      }
      (void)batch.step();
    }
  };
  run(1);  // packs the weights
  const auto start = Clock::now();
  run(all);
  expected.tokens_per_second = static_cast<double>(all * o.tokens) / seconds_since(start);
  for (const std::string& text : expected.texts) check_encoding(text);
  return expected;
}

// What one or several clients have measured.
struct Measured {
  std::vector<double> first, next;  // milliseconds until the first part of an answer, and between two parts
  std::int64_t answers = 0, wrong = 0, failed = 0;
  std::string failure;  // the reason of one failure

  void add(const Measured& other) {
    first.insert(first.end(), other.first.begin(), other.first.end());
    next.insert(next.end(), other.next.begin(), other.next.end());
    answers += other.answers;
    wrong += other.wrong;
    failed += other.failed;
    if (!other.failure.empty()) failure = other.failure;
  }
};

// Reads the events of a stream. Returns the text of its first choice.
class Events {
 public:
  explicit Events(Measured& measured) : measured_(measured) {}

  bool add(const char* bytes, std::size_t count) {
    rest_.append(bytes, count);
    for (std::size_t end; (end = rest_.find("\n\n")) != std::string::npos; rest_.erase(0, end + 2)) {
      const std::string event = rest_.substr(6, end - 6);  // after "data: "
      if (event == "[DONE]") continue;
      const json part = json::parse(event);
      if (!part.contains("choices")) {
        measured_.failure = event;
        return false;
      }
      text_ += part.at("choices").at(0).at("text").get<std::string>();
      (is_first_ ? measured_.first : measured_.next).push_back(1e3 * seconds_since(last_));
      is_first_ = false;
      last_ = Clock::now();
    }
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  Measured& measured_;
  std::string rest_, text_;
  Clock::time_point last_ = Clock::now();
  bool is_first_ = true;
};

// Sends one request after the other until `ends` is true.
Measured run_client(const Options& o, const Expected& expected, std::atomic<std::int64_t>& requests,
                    const std::atomic<bool>& ends) {
  httplib::Client client(o.host, o.port);
  client.set_read_timeout(600);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  Measured measured;
  while (!ends) {
    const auto k = static_cast<std::size_t>(requests++ % o.texts);
    httplib::Request request;
    request.method = "POST";
    request.path = "/v1/completions";
    request.body = json{{"prompt", o.prompt}, {"max_tokens", o.tokens}, {"seed", k}, {"stream", true}}.dump();
    request.set_header("Content-Type", "application/json");
    Events events(measured);
    request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t, std::uint64_t) {
      return events.add(bytes, count);
    };
    const auto result = client.send(request);
    if (!result || result->status != 200) {
      ++measured.failed;
      if (result) measured.failure = "status " + std::to_string(result->status);
      else if (result.error() != httplib::Error::Canceled) measured.failure = httplib::to_string(result.error());
    } else if (events.text() != expected.texts[k]) ++measured.wrong;
    else ++measured.answers;
  }
  return measured;
}

// Sends one long prompt after the other, so that the server reads prompts while it continues texts.
std::int64_t send_long_prompts(const Options& o, const std::atomic<bool>& ends) {
  httplib::Client client(o.host, o.port);
  client.set_read_timeout(600);
  std::int64_t sent = 0;
  for (; !ends; ++sent)
    (void)client.Post("/v1/completions", json{{"prompt", o.long_prompt}, {"max_tokens", 1}}.dump(), "application/json");
  return sent;
}

std::string quantiles(std::vector<double> x) {
  if (x.empty()) return "none";
  std::sort(x.begin(), x.end());
  const auto at = [&](double share) {
    return x[std::min(x.size() - 1, static_cast<std::size_t>(share * static_cast<double>(x.size())))];
  };
  char line[160];
  std::snprintf(line, sizeof line, "p50 %.2f ms, p95 %.2f ms, p99 %.2f ms, longest %.2f ms", at(0.5), at(0.95),
                at(0.99), x.back());
  return line;
}

bool measure(const Options& o) {
  const Expected expected = expected_texts(o);
  std::printf("library: %.1f tokens/s for %d texts together\n", expected.tokens_per_second, o.clients);
  std::atomic<std::int64_t> requests = 0;
  std::atomic<bool> ends = false;
  std::mutex mutex;
  Measured all;
  std::int64_t long_prompts = 0;
  const double memory = resident_megabytes(o.server), cpu = cpu_seconds();
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < o.clients; ++i)
    threads.emplace_back([&] {
      const Measured measured = run_client(o, expected, requests, ends);
      const std::lock_guard lock(mutex);
      all.add(measured);
    });
  if (!o.long_prompt.empty()) threads.emplace_back([&] { long_prompts = send_long_prompts(o, ends); });
  std::this_thread::sleep_for(std::chrono::duration<double>(o.seconds));
  ends = true;
  for (std::thread& thread : threads) thread.join();
  const double seconds = seconds_since(start);
  const double rate = static_cast<double>(all.answers * o.tokens) / seconds;
  std::printf("server: %.1f tokens/s for %d clients, %.0f %% of the library's\n", rate, o.clients,
              100 * rate / expected.tokens_per_second);
  std::printf("answers: %ld right, %ld wrong, %ld failed in %.1f s\n", static_cast<long>(all.answers),
              static_cast<long>(all.wrong), static_cast<long>(all.failed), seconds);
  if (all.failed > 0) std::printf("reason of a failure: %s\n", all.failure.c_str());
  std::printf("first part: %s\n", quantiles(all.first).c_str());
  std::printf("between parts: %s\n", quantiles(all.next).c_str());
  std::printf("CPU time of the clients: %.1f %% of one core\n", 100 * (cpu_seconds() - cpu) / seconds);
  if (!o.long_prompt.empty()) std::printf("long prompts: %ld\n", static_cast<long>(long_prompts));
  if (o.server > 0)
    std::printf("memory of the server: %.1f MB before, %.1f MB after\n", memory, resident_megabytes(o.server));
  return all.wrong == 0 && all.failed == 0;
}

int run(int argc, char** argv) {
  CLI::App app("Loads weft serve with clients that generate texts, and checks their answers.", "weft-load-bench");
  Options o;
  std::string long_prompt_file;
  add_common_options(app, o);
  app.add_option("model", o.model, "Folder of the run or checkpoint that the server serves")->required();
  app.add_option("--precision", o.precision, "Precision of the computation, as that of the server: f32 or bf16")
      ->check(CLI::IsMember(precisions()));
  app.add_option("--host", o.host, "Address of the server")->capture_default_str();
  app.add_option("--port", o.port, "Port of the server")->capture_default_str();
  app.add_option("--clients", o.clients, "Number of clients, each with one request at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--seconds", o.seconds, "Time after which the clients send no more requests")->capture_default_str();
  app.add_option("--tokens", o.tokens, "Number of new symbols of a text")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--texts", o.texts, "Number of different texts")->capture_default_str()->check(CLI::Range(1, 65536));
  app.add_option("--prompt", o.prompt, "Prompt of all texts (default: a line end)");
  app.add_option("--long-prompt", long_prompt_file,
                 "File with a prompt that another client sends again and again, with one new symbol")
      ->type_name("FILE");
  app.add_option("--server", o.server, "Process id of the server, to show its memory")->type_name("PID");
  app.footer(
      "First generates the texts with the library, without the server, as many together as there are clients.\n"
      "Exits with 1 if the server sent a different text or no text.\n"
      "Example:\n"
      "  weft serve book --port 8080 &\n"
      "  weft-load-bench book --clients 8 --server $!");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (!long_prompt_file.empty()) {
    std::ifstream file(long_prompt_file, std::ios::binary);
    if (!file) throw Error("can't read \"" + long_prompt_file + "\"");
    o.long_prompt.assign(std::istreambuf_iterator<char>(file), {});
  }
  Context::current().set_threads(o.threads);
  return measure(o) ? 0 : 1;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::main_of("weft-load-bench", weft::bench::run, argc, argv); }
