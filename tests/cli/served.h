// Helpers for the tests of weft serve.
#pragma once
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"

namespace weft::test {

struct Served {
  int port, process;
  bool* has_signal;  // whether the server has received a signal to end

  // A second signal would end the server immediately.
  void end(int signal = SIGTERM) const {
    if (!*has_signal) ::kill(process, signal);
    *has_signal = true;
  }

  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port);
    client.set_read_timeout(60);
    return client;
  }
};

// Runs weft serve on a free port, calls `use`, sends SIGTERM unless `use` has sent a signal to end, and
// waits for the end.
inline Outcome serve(const std::string& arguments, const std::function<void(const Served&)>& use) {
  return shell("\"$WEFT\" serve --port 0 " + arguments, [&](const std::string& folder, int process) {
    std::ostringstream out;
    out << std::ifstream(folder + "out").rdbuf();
    if (!contains(out.str(), "\n")) return false;
    bool has_signal = false;
    const Served served{static_cast<int>(number_after(out.str(), "listening on http://127.0.0.1:")), process,
                        &has_signal};
    const auto before =
        ::signal(SIGPIPE, SIG_IGN);  // httplib's client writes to connections that the server has closed
    try {
      use(served);
    } catch (...) {
      ::kill(process, SIGKILL);
      throw;
    }
    ::signal(SIGPIPE, before);
    served.end();
    return true;
  });
}

struct Response {
  int status = 0;
  nlohmann::json json;
  std::string text;

  std::string error() const { return json.at("error").at("message"); }
};

inline Response post(const Served& served, const std::string& path, const std::string& body) {
  const auto result = served.client().Post(path, body, "application/json");
  if (!result) return {};
  return {result->status, nlohmann::json::parse(result->body, nullptr, false), result->body};
}
inline Response post(const Served& served, const std::string& path, const nlohmann::json& body) {
  return post(served, path, body.dump());
}
inline Response get(const Served& served, const std::string& path) {
  const auto result = served.client().Get(path);
  if (!result) return {};
  return {result->status, nlohmann::json::parse(result->body, nullptr, false), result->body};
}

// Returns the value of a metric. The name includes the labels, or the beginning of them.
inline std::string metric(const Served& served, const std::string& name) {
  for (const std::string& line : lines_of(get(served, "/metrics").text))
    if (line.rfind(name, 0) == 0) return line.substr(line.rfind(' ') + 1);
  return "";
}

// Waits up to a minute.
inline bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 1200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return condition();
}

inline std::string text_of(const Response& response, std::size_t choice = 0) {
  return response.json.at("choices").at(choice).at("text");
}

inline std::string greedy(const Served& served) {
  return text_of(post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 30}, {"temperature", 0}}));
}

// Sends a request whose answer is a stream. Calls use(number) after each part, and ends the connection if it returns
// false. Returns the parts of the stream.
inline std::vector<nlohmann::json> stream(const Served& served, nlohmann::json body,
                                          const std::function<bool(std::size_t)>& use = {}) {
  body["stream"] = true;
  std::vector<nlohmann::json> parts;
  std::string rest;
  bool is_done = false;
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = body.dump();
  request.set_header("Content-Type", "application/json");
  request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t, std::uint64_t) {
    rest.append(bytes, count);
    for (std::size_t end; (end = rest.find("\n\n")) != std::string::npos; rest.erase(0, end + 2)) {
      if (is_done || rest.rfind("data: ", 0) != 0) throw std::runtime_error("unexpected event: " + rest);
      is_done = rest.substr(6, end - 6) == "[DONE]";
      if (is_done) continue;
      parts.push_back(nlohmann::json::parse(rest.substr(6, end - 6)));
      if (use && !use(parts.size())) return false;
    }
    return true;
  };
  served.client().send(request);
  return parts;
}

inline std::string text_of(const std::vector<nlohmann::json>& parts, std::size_t choice = 0) {
  std::string text;
  for (const nlohmann::json& part : parts)
    for (const nlohmann::json& one : part.at("choices"))
      if (one.at("index") == choice) text += one.at("text").get<std::string>();
  return text;
}

// Writes a causal language model with random parameters.
inline void write_language_model(const std::string& folder, std::uint64_t seed = 1, const std::string& arch = "tnn") {
  const SmallTask small = small_task(arch, Task::causal_lm);
  for (auto [name, parameter] : small.model->parameters()) {
    const Tensor& value = parameter.value();
    parameter.assign(Random(seed++).uniform(value.shape(), -0.5, 0.5, value.dtype()));
  }
  save_checkpoint(folder, *small.model, *small.data->tokenizer());
}

}  // namespace weft::test
