// Tests of how weft serve begins, reloads and ends.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "served.h"
#include "sockets.h"

namespace weft::test {
TEST_CASE("serve: SIGTERM ends the server after the running requests") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const nlohmann::json request = {{"prompt", "fox"}, {"max_tokens", 600}, {"seed", 3}};
  for (const int signal : {SIGTERM, SIGINT}) {
    const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
      const std::string text = text_of(post(served, "/v1/completions", request));
      const std::vector<nlohmann::json> parts = stream(served, request, [&](std::size_t part) {
        if (part > 1) return true;
        served.end(signal);
        return soon([&] { return get(served, "/health").status != 200; });
      });
      CHECK(text_of(parts) == text);
    });
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.err, "weft: finishing the running requests"));
  }
}

TEST_CASE("serve: requests that take too long end with an error") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const nlohmann::json request = {{"prompt", "fox"}, {"max_tokens", 100000}};
  const std::string arguments = (folder / "lm") + " --max-tokens 100000 ";
  const Outcome timed_out = serve(arguments + "--timeout 0.3", [&](const Served& served) {
    CHECK(post(served, "/v1/completions", request).status == 504);
    CHECK(stream(served, request).back().at("error").at("code") == "timeout");
  });
  CHECK(timed_out.code == 0);
  const Outcome stopped = serve(arguments + "--drain 0.1", [&](const Served& served) {
    const auto parts = stream(served, request, [&](std::size_t) {
      served.end();
      return true;
    });
    CHECK(parts.back().at("error").at("code") == "shutting_down");
  });
  CHECK(stopped.code == 0);
}

TEST_CASE("serve: a reload loses no request, and a damaged checkpoint does not replace the model") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm", 1);
  const nlohmann::json request = {{"prompt", "fox"}, {"max_tokens", 500}, {"seed", 3}};
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const std::string before = greedy(served), text = text_of(post(served, "/v1/completions", request));
    CHECK(post(served, "/admin/reload", nlohmann::json::object()).json.at("reloaded").empty());
    CHECK(served.client().Post("/admin/reload")->status == 200);  // without a body
    CHECK(served.client().Post("/admin/reload", {{"Origin", "http://example.org"}}, "", "")->status == 415);
    const std::vector<nlohmann::json> parts = stream(served, request, [&](std::size_t part) {
      if (part > 1) return true;
      write_language_model(folder / "lm", 1000);
      return post(served, "/admin/reload", nlohmann::json::object()).json.at("reloaded") == nlohmann::json{"lm"};
    });
    CHECK(text_of(parts) == text);
    const std::string after = greedy(served);
    CHECK(after != before);

    folder.write("lm/model.safetensors", "damaged");
    const Response damaged = post(served, "/admin/reload", nlohmann::json::object());
    CHECK(damaged.json.at("reloaded").empty());
    CHECK(contains(damaged.json.at("errors").at("lm"), "model.safetensors"));
    CHECK(get(served, "/health").json.at("models").at(0).at("error") == damaged.json.at("errors").at("lm"));
    CHECK(greedy(served) == after);

    std::filesystem::remove_all(folder / "lm");
    const Response missing = post(served, "/admin/reload", nlohmann::json::object());
    CHECK(missing.json.at("reloaded").empty());
    CHECK(contains(missing.json.at("errors").at("lm"), "No such file or directory"));
    CHECK(get(served, "/health").json.at("models").at(0).at("error") == missing.json.at("errors").at("lm"));
    CHECK(greedy(served) == after);

    write_language_model(folder / "lm", 1);
    ::kill(served.process, SIGHUP);
    CHECK(soon([&] { return greedy(served) == before; }));
    CHECK(get(served, "/health").json.at("models").at(0).at("error").is_null());
  });
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err, "weft: reloaded the model \"lm\"\n"));
}

TEST_CASE("serve: the text of a client that goes away ends") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const nlohmann::json request = {{"prompt", "fox"}, {"max_tokens", 1000000}};
  const Outcome outcome = serve((folder / "lm") + " --max-tokens 1000000", [&](const Served& served) {
    const auto is_idle = [&] { return contains(get(served, "/metrics").text, "weft_running_texts{model=\"lm\"} 0\n"); };
    stream(served, request, [](std::size_t part) { return part < 3; });
    CHECK(soon(is_idle));
    httplib::Client client = served.client();
    client.set_read_timeout(0, 300000);
    CHECK_FALSE(client.Post("/v1/completions", request.dump(), "application/json"));
    CHECK(soon(is_idle));
  });
  CHECK(outcome.code == 0);
}

// Reading the whole prompt would take seconds, and would count its tokens.
TEST_CASE("serve: the server stops reading the prompt of a client that goes away") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  std::string prompt;
  while (prompt.size() < 1500000) prompt += "the quick brown fox ";
  const std::string body = nlohmann::json{{"prompt", prompt}, {"max_tokens", 1}}.dump();
  const std::string limits = " --threads 1 --max-prompt 2000000 --max-body 3000000";
  const Outcome outcome = serve((folder / "lm") + limits, [&](const Served& served) {
    const int socket = connect(served);
    CHECK(send(socket, "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body));
    CHECK(soon([&] { return metric(served, "weft_running_texts{model=\"lm\"}") == "1"; }));
    ::close(socket);
    CHECK(soon([&] { return metric(served, "weft_running_texts{model=\"lm\"}") == "0"; }));
    CHECK(metric(served, "weft_prompt_tokens_total{model=\"lm\"}") == "0");
  });
  CHECK(outcome.code == 0);
}

// Such a server must not stay as a process that nobody can reach.
TEST_CASE("serve: if the system can't accept a connection, the server ends after the running requests") {
  const char* const library = std::getenv("WEFT_KILL_LIBRARY");
  if (library == nullptr) return;  // not set with sanitizers
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const nlohmann::json request = {{"prompt", "fox"}, {"max_tokens", 600}, {"seed", 3}};
  const auto text = std::make_shared<std::string>();
  const auto use = [&](const Served& served) {
    if (text->empty()) *text = text_of(post(served, "/v1/completions", request));
    const std::vector<nlohmann::json> parts = stream(served, request, [&](std::size_t part) {
      if (part == 1) CHECK(get(served, "/health").status == (std::getenv("WEFT_ACCEPT_ERROR") == nullptr ? 200 : 0));
      return true;
    });
    CHECK(text_of(parts) == *text);
    *served.has_signal = std::getenv("WEFT_ACCEPT_ERROR") != nullptr;
  };
  CHECK(serve(folder / "lm", use).code == 0);
  ::setenv("LD_PRELOAD", library, 1);
  ::setenv("WEFT_ACCEPT_ERROR", std::to_string(ENFILE).c_str(), 1);
  const Outcome outcome = serve(folder / "lm", use);
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("WEFT_ACCEPT_ERROR");
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "weft: the system can't accept further connections\nweft: finishing the running"));
}

TEST_CASE("serve: without threads for its connections, the server does not start") {
  if (std::getenv("WEFT_KILL_LIBRARY") == nullptr) return;  // a sanitizer needs much address space
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome =
      shell("sh -c 'ulimit -v 1000000; exec \"$WEFT\" serve \"$0\" --port 0 --threads 1 --connections 512' " +
            (folder / "lm"));
  CHECK(fails_with(outcome, 1, "can't start the threads of 512 connections: "));
}

TEST_CASE("serve: wrong arguments") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  CHECK(fails_with(weft("serve"), 2, "give the folder of a run or of a checkpoint"));
  CHECK(fails_with(weft("serve " + (folder / "nothing")), 1, "nothing"));
  for (const char* option : {" --timeout 1e10", " --drain 1e10"})
    CHECK(fails_with(weft("serve " + (folder / "lm") + option), 2, "1e+06, got \"1e10\""));
  CHECK(fails_with(weft("serve " + (folder / "lm") + " lm=" + (folder / "lm")), 1, "got \"lm\" twice; give NAME=DIR"));
  CHECK(fails_with(weft("serve " + (folder / "lm") + " --host 192.0.2.1"), 1, "can't listen on 192.0.2.1:8080"));
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const std::string port = std::to_string(served.port);
    CHECK(fails_with(weft("serve " + (folder / "lm") + " --port " + port), 1, "can't listen on 127.0.0.1:" + port));
  });
  CHECK(outcome.code == 0);
}

}  // namespace weft::test

#endif
