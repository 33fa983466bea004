// Tests of how weft serve begins, reloads and ends.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "served.h"

namespace weft::test {
namespace {

std::string greedy(const Served& served) {
  return text_of(post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 30}, {"temperature", 0}}));
}

// `room` is the number of bytes that may wait for a read, or 0 for the usual number.
int connect(const Served& served, int room = 0) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (room > 0) ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(served.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

// Returns false if the server has closed the connection.
bool send(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Receives bytes until one is `last`, the server closes the connection, or 20 seconds have passed without any.
std::string receive(int socket, char last) {
  const timeval patience{20, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string received;
  char byte;
  while ((received.empty() || received.back() != last) && ::recv(socket, &byte, 1, 0) == 1) received += byte;
  return received;
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

// The first client asks for more bytes than the systems of both sides keep, and reads none of them.
TEST_CASE("serve: a client that doesn't read its stream does not hold up another client") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve((folder / "lm") + " --max-tokens 1000000", [](const Served& served) {
    const std::string text = greedy(served);
    const int socket = connect(served, 1024);
    const std::string body = R"({"prompt": "fox", "stream": true, "logprobs": 0, "max_tokens": 100000})";
    CHECK(send(socket, "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body));
    CHECK(soon([&] { return std::stoi(metric(served, "weft_generated_tokens_total")) > 30000; }));
    CHECK(greedy(served) == text);
    // The stream has not ended, so the server did not give it up before it answered the other client.
    CHECK(soon([&] { return metric(served, "weft_request_seconds_count{path=\"/v1/completions\"}") == "2"; }));
    CHECK(soon([&] { return metric(served, "weft_requests_total{path=\"/v1/completions\",status=\"200\"}") == "2"; }));
    ::close(socket);
  });
  CHECK(outcome.code == 0);
}

// A client sends a byte of its header now and then, so that no time limit for a single read ends the connection.
TEST_CASE("serve: a client that sends very slowly does not keep the server from ending") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  std::thread slow;
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    slow = std::thread([socket = connect(served)] {
      CHECK(send(socket, "POST /"));
      while (send(socket, "x")) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      ::close(socket);
    });
    CHECK(get(served, "/health").status == 200);
  });
  slow.join();
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a head that doesn't end in time loses its connection") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --timeout 1", [&](const Served& served) {
    const int socket = connect(served);
    CHECK(send(socket, "GET /health HTTP/1.1\r\nA: "));
    CHECK(soon([&] { return !send(socket, "x"); }));
    ::close(socket);
  });
  CHECK(outcome.code == 0);
}

#ifndef CPPHTTPLIB_HEADER_MAX_COUNT  // see LimitedServer
// Otherwise, each of them would be served for five or ten seconds.
TEST_CASE("serve: connections that send nothing, or half a head, hold up others only for a short time") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --connections 1", [](const Served& served) {
    std::vector<int> sockets;
    for (int i = 0; i < 14; ++i) {
      sockets.push_back(connect(served));
      if (i % 2 == 1) CHECK(send(sockets.back(), "GET /health HTTP/1.1\r\nA: "));
    }
    sockets.push_back(connect(served));
    CHECK(send(sockets.back(), "GET /health HTTP/1.1\r\n\r\n"));
    CHECK(receive(sockets.back(), '}').rfind("HTTP/1.1 200 ", 0) == 0);
    for (int socket : sockets) ::close(socket);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a slow client keeps its connection if nobody waits, or if the head of its request is complete") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --connections 1", [](const Served& served) {
    const int slow = connect(served);
    const auto send_later = [&](std::string_view bytes) {
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
      CHECK(send(slow, bytes));
    };
    send_later("POST /tokenize HTTP/1.1\r\nContent-Length: 15\r\nContent-Type: application/json\r\n");
    send_later("Expect: 100-continue\r\n\r\n");
    CHECK(receive(slow, '\n') == "HTTP/1.1 100 Continue\r\n");
    const int waiting = connect(served);
    CHECK(send(waiting, "GET /health HTTP/1.1\r\n\r\n"));
    send_later(R"({"text": "fox"})");
    for (int socket : {slow, waiting}) CHECK(contains(receive(socket, '}'), "HTTP/1.1 200 "));
    ::close(slow);
    ::close(waiting);
  });
  CHECK(outcome.code == 0);
}

// The other connections find free threads.
TEST_CASE("serve: a silent connection lasts while other connections come and go") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --connections 4", [](const Served& served) {
    const int silent = connect(served);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < until) {
      CHECK(get(served, "/health").status == 200);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(send(silent, "GET /health HTTP/1.1\r\n\r\n"));
    CHECK(receive(silent, '}').rfind("HTTP/1.1 200 ", 0) == 0);
    ::close(silent);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a connection with many requests is closed after an answer while another one waits") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --connections 1", [](const Served& served) {
    const int busy = connect(served), waiting = connect(served);
    CHECK(send(waiting, "GET /health HTTP/1.1\r\n\r\n"));
    std::string received;
    while (!contains(received, "\nConnection: close") && send(busy, "GET /health HTTP/1.1\r\n\r\n"))
      received += receive(busy, '}');
    CHECK(contains(received, "\nConnection: close"));
    CHECK(receive(waiting, '}').rfind("HTTP/1.1 200 ", 0) == 0);
    ::close(busy);
    ::close(waiting);
  });
  CHECK(outcome.code == 0);
}
#endif

TEST_CASE("serve: a body that doesn't go on loses its connection") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --timeout 60", [](const Served& served) {
    const int socket = connect(served);
    CHECK(send(socket, "POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"));
    CHECK(receive(socket, '\0').rfind("HTTP/1.1 408 ", 0) == 0);
    char byte;
    CHECK(::recv(socket, &byte, 1, MSG_DONTWAIT) == 0);
    ::close(socket);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a connection takes several requests, with large bodies, until one asks to close it") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const int socket = connect(served);
    const std::string body = std::string(1 << 19, ' ') + R"({"text": "fox"})";
    const std::string post = "POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\n";
    std::ostringstream chunk;
    chunk << std::hex << body.size() << "\r\n" << body << "\r\n0\r\n\r\n";
    const std::string end = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    const std::string requests[] = {post + end, post + "Transfer-Encoding: chunked\r\n\r\n" + chunk.str(),
                                    post + "Connection: close\r\n" + end};
    for (const std::string& request : requests) {
      CHECK(send(socket, request));
      const std::string answer = receive(socket, '}');
      CHECK(answer.rfind("HTTP/1.1 200 ", 0) == 0);
    }
    send(socket, post + end);
    CHECK(receive(socket, '}').empty());
    ::close(socket);
  });
  CHECK(outcome.code == 0);
}

// What follows a head that is too long is not another request.
TEST_CASE("serve: a head that is too long gets one answer") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm --max-body 9223372036854775807", [&](const Served& served) {
    const int socket = connect(served);
    std::string request = "GET /health HTTP/1.1\r\n";
    while (request.size() < 70000) request += "A: b\r\n";
    send(socket, request + "\r\nGET /health HTTP/1.1\r\n\r\n");
    const std::string answers = receive(socket, '\0');
    CHECK(answers.find("HTTP/1.1 2") == std::string::npos);
    CHECK(answers.find("HTTP/1.1 ") == answers.rfind("HTTP/1.1 "));
    ::close(socket);
    CHECK(post(served, "/tokenize", std::string(100000, ' ') + R"({"text": "fox"})").status == 200);
  });
  CHECK(outcome.code == 0);
}

// A client sends the beginning of a request, and then the same bytes again and again. The systems of both sides keep a
// few MiB that the server hasn't read.
TEST_CASE("serve: endless heads and lengths of chunks lose their connection") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const std::string get_health = "GET /health HTTP/1.1\r\n";
  const std::pair<std::string, std::string> endless[] = {
      {"", "G"},
      {get_health, "A"},
      {get_health, "A: b\r\n"},
      {get_health, "A\n"},
      {"POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", "0"}};
  const Outcome outcome = serve(folder / "lm --max-body 1000", [&](const Served& served) {
    for (const auto& pair : endless) {
      const std::string &begin = pair.first, &again = pair.second;
      CAPTURE(begin);
      CAPTURE(again);
      const int socket = connect(served);
      CHECK(send(socket, begin));
      std::string block;
      while (block.size() < (1 << 20)) block += again;
      int blocks = 0;
      while (blocks < 64 && send(socket, block)) ++blocks;
      CHECK(blocks < 64);
      ::close(socket);
      CHECK(get(served, "/health").status == 200);
    }
    const auto long_head = served.client().Get("/health", {{"A", std::string(7000, 'a')}});
    CHECK((long_head && long_head->status == 200));
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
