// Tests of how weft serve begins, reloads and ends.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "served.h"

namespace weft::test {
namespace {

std::string greedy(const Served& served) {
  return text_of(post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 30}, {"temperature", 0}}));
}

// Waits up to 20 seconds.
bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 400 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return condition();
}

}  // namespace

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

// A client sends a byte of its header now and then, so that no time limit for a single read ends the connection.
TEST_CASE("serve: a client that sends very slowly does not keep the server from ending") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  std::thread slow;
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(served.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::send(socket, "POST /", 6, MSG_NOSIGNAL) == 6);
    slow = std::thread([socket] {
      while (::send(socket, "x", 1, MSG_NOSIGNAL) == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      ::close(socket);
    });
    CHECK(get(served, "/health").status == 200);
  });
  slow.join();
  CHECK(outcome.code == 0);
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
