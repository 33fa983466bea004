// Tests of clients that send or read slowly, too much, or nothing.
#ifdef WEFT_HTTPLIB
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "served.h"
#include "sockets.h"

namespace weft::test {

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
    CHECK(is_answered(sockets.back()));
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
    CHECK(is_answered(silent));
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
    CHECK(is_answered(waiting));
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

}  // namespace weft::test

#endif
