#include "serve/http_server.h"

#include <weft/error.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <thread>

#include "console/number.h"
#include "serve/connection_threads.h"
#include "serve/endpoints.h"
#include "serve/limited_server.h"
#include "serve/memory_reserve.h"
#include "serve/peer.h"
#include "serve/running_requests.h"
#include "serve/signals.h"

namespace serve {
namespace {

using httplib::Request;
using httplib::Response;

constexpr int socket_seconds = 10;       // longest time that a connection may take to send or receive the next bytes
constexpr std::size_t max_head = 65536;  // bytes of a request's first line and headers
constexpr int keep_alive_seconds = 5;    // after that, a connection without a request is closed

// Compares all characters, so that the time tells nothing about the key.
bool same_key(const std::string& a, const std::string& b) {
  std::size_t differences = a.size() ^ b.size();
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differences == 0;
}

HttpError shutting_down() { return {503, "shutting_down", "the server is shutting down"}; }

void set_error(Response& response, const HttpError& error) {
  response.status = error.status;
  if (error.status == 401) response.set_header("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) response.set_header("Retry-After", "1");
  response.set_content(error_text(error), "application/json");
}

// Measures the time until it is destroyed. Without memory for the first measurement of a path, it is left out.
class RequestTimer {
 public:
  RequestTimer(Metrics& metrics, const char* path) : metrics_(metrics), path_(path) {}
  ~RequestTimer() {
    try {
      metrics_.add_request(path_, std::chrono::duration<double>(Clock::now() - begin_).count());
    } catch (const std::bad_alloc&) {
    }
  }
  RequestTimer(const RequestTimer&) = delete;
  RequestTimer& operator=(const RequestTimer&) = delete;

 private:
  Metrics& metrics_;
  const char* path_;
  const Clock::time_point begin_ = Clock::now();
};

// Writes an error and closes the connection, because the rest of the request has not been read. httplib closes a
// connection if the provider of the content returns false.
void set_error_and_close(Response& response, const HttpError& error) {
  set_error(response, error);
  const std::string body = std::exchange(response.body, {});
  response.headers.erase("Content-Type");
  response.set_header("Connection", "close");
  response.set_content_provider(body.size(), "application/json",
                                [body](std::size_t, std::size_t, httplib::DataSink& sink) {
                                  sink.write(body.data(), body.size());
                                  return false;
                                });
}

// Passes httplib's connections on to the threads. httplib calls shutdown() when it accepts no more connections. The
// functions return nothing, or true in later versions of httplib.
class Connections final : public httplib::TaskQueue {
 public:
  Connections(ConnectionThreads& threads, std::function<void()> at_end)
      : threads_(threads), at_end_(std::move(at_end)) {}

  using Added = decltype(std::declval<httplib::TaskQueue&>().enqueue(nullptr));
  Added enqueue(std::function<void()> task) override {
    threads_.add(task);
    return static_cast<Added>(true);
  }
  void shutdown() override {
    at_end_();
    threads_.end();
  }

 private:
  ConnectionThreads& threads_;
  const std::function<void()> at_end_;
};

}  // namespace

struct HttpServer::Impl {
  const Settings& settings;
  Models& models;
  States& states;
  Metrics& metrics;
  LimitedServer server;
  RunningRequests running;
  socket_t listening = INVALID_SOCKET;
  std::optional<ConnectionThreads> threads;
  std::thread accepting;
  std::atomic<bool> is_ending = false, has_failed = false;

  Impl(const Settings& the_settings, Models& the_models, States& the_states, Metrics& the_metrics)
      : settings(the_settings), models(the_models), states(the_states), metrics(the_metrics), server(limits()) {
    server.new_task_queue = [this] { return new Connections(*threads, [this] { stop_if_failed(); }); };
    server.set_socket_options([this](socket_t socket) { set_socket_options(socket); });
    server.set_tcp_nodelay(true);
    server.set_read_timeout(socket_seconds);
    server.set_write_timeout(socket_seconds);
    server.set_keep_alive_timeout(keep_alive_seconds);
    server.set_keep_alive_max_count(1000);
    server.set_pre_routing_handler([this](const Request& q, Response& r) { return check(q, r); });
    server.set_error_handler([](const Request&, Response& r) { describe_error(r); });
    server.set_exception_handler([](const Request&, Response& r, std::exception_ptr error) { on_exception(r, error); });
    server.set_logger([this](const Request& q, const Response& r) { metrics_of(q, r); });
    for (const Endpoint& endpoint : endpoints()) add(endpoint);
  }

  // Each byte of a body may come in a chunk of its own, whose length and line ends are five more bytes.
  RequestLimits limits() {
    constexpr std::size_t most = (std::numeric_limits<std::size_t>::max() - max_head) / 6;
    const std::size_t body = std::min(static_cast<std::size_t>(settings.max_body), most);
    return {max_head, std::min<double>(socket_seconds, settings.timeout), max_head + 6 * body, settings.timeout,
            [this] { return threads->others_wait(); }};
  }

  // The option SO_REUSEPORT, which httplib sets by default, would let two servers share a port.
  void set_socket_options(socket_t socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    listening = socket;
  }

  // httplib lets 5 connections wait until they are accepted. If more clients connect at the same time, their systems try
  // again after a second.
  void lengthen_backlog() const { ::listen(listening, SOMAXCONN); }

  // httplib stops listening if the system can't accept a connection, except if this process has too many files open. For
  // example, all processes together may have too many. Without this function, the server would go on, but unreachable.
  void stop_if_failed() {
    if (is_ending) return;
    has_failed = true;
    ask_to_stop();
  }

  static const Endpoint& endpoint_of(const Request& request) {
    for (const Endpoint& endpoint : endpoints())
      if (endpoint.matches(request.path)) return endpoint;
    throw HttpError(404, "unknown_path", "there is no path " + request.path + "; /openapi.json lists the paths");
  }

  // Checks everything that is known before the body is read.
  void check_head(const Request& request) const {
    const Endpoint& endpoint = endpoint_of(request);
    const bool is_head = request.method == "HEAD" && endpoint.answer == nullptr;
    if (!is_head && request.method != endpoint.method)
      throw HttpError(405, "wrong_method",
                      "expected " + std::string(endpoint.method) + " " + request.path + ", got " + request.method);
    if (endpoint.needs_key && !settings.api_key.empty() &&
        !same_key(request.get_header_value("Authorization"), "Bearer " + settings.api_key))
      throw HttpError(401, "invalid_api_key",
                      "expected the header Authorization: Bearer KEY with the key of this server");
    const bool has_length = request.has_header("Content-Length"), is_chunked = request.has_header("Transfer-Encoding");
    if (endpoint.answer == nullptr) {
      if (is_chunked || (has_length && request.get_header_value("Content-Length") != "0"))
        throw HttpError(400, "unexpected_body", "expected no body for " + request.method + " " + request.path);
      return;
    }
    if (request.has_header("Range")) throw HttpError(400, "invalid_header", "expected no header Range");
    if (has_length && is_chunked)
      throw HttpError(400, "invalid_header", "expected either Content-Length or Transfer-Encoding, got both");
    if (has_length) check_length(request.get_header_value("Content-Length"));
    if (request.has_header("Content-Encoding"))
      throw HttpError(415, "unsupported_encoding", "expected a body without Content-Encoding");
    const std::string type = request.get_header_value("Content-Type");
    const bool is_empty = has_length && request.get_header_value("Content-Length") == "0";
    if (((has_length && !is_empty) || is_chunked || request.has_header("Origin")) &&
        type.rfind("application/json", 0) != 0)
      throw HttpError(415, "unsupported_type",
                      "expected the header Content-Type: application/json, got \"" + type + "\"");
  }

  void check_length(const std::string& typed) const {
    const auto length = parse_decimal<std::int64_t>(typed);
    if (!length || *length < 0)
      throw HttpError(400, "invalid_header", "Content-Length: expected a number of bytes, got \"" + typed + "\"");
    if (*length > settings.max_body) throw too_large();
  }

  HttpError too_large() const {
    return {413, "body_too_large", "expected a body of at most " + std::to_string(settings.max_body) + " bytes"};
  }

  httplib::Server::HandlerResponse check(const Request& request, Response& response) const {
    try {
      if (running.is_draining()) throw shutting_down();
      if (!keep_memory_reserve()) throw std::bad_alloc();
      check_head(request);
      return httplib::Server::HandlerResponse::Unhandled;
    } catch (const std::exception& thrown) {
      const HttpError error = http_error(thrown);
      if (error.status == 405)
        response.set_header("Allow", endpoint_of(request).answer == nullptr ? "GET, HEAD" : "POST");
      set_error_and_close(response, error);
    }
    return httplib::Server::HandlerResponse::Handled;
  }

  void add(const Endpoint& endpoint) {
    if (endpoint.answer == nullptr) {
      const std::string pattern = std::string(endpoint.path) + (endpoint.continues() ? "[\\s\\S]+" : "");
      server.Get(pattern, [this, &endpoint](const Request& request, Response& response) {
        const std::string rest = request.path.substr(std::string(endpoint.path).size());
        try {
          response.set_content(endpoint.text({models, metrics, rest}), endpoint.type);
        } catch (const std::exception& error) {
          set_error(response, http_error(error));
        }
      });
      return;
    }
    server.Post(endpoint.path,
                [this, &endpoint](const Request& request, Response& response, const httplib::ContentReader& reader) {
                  const auto token = running.begin();
                  std::string body;
                  if (token == nullptr) set_error_and_close(response, shutting_down());
                  else if (read_body(request, reader, response, body)) answer(endpoint, request, response, body, token);
                });
  }

  // Returns false and sets an error if the body is too large or does not arrive in time.
  bool read_body(const Request& request, const httplib::ContentReader& reader, Response& response, std::string& body) {
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) return true;
    const auto until = Clock::now() + std::chrono::duration<double>(settings.timeout);
    bool is_too_large = false;
    const bool is_read = reader([&](const char* bytes, std::size_t count) {
      is_too_large = body.size() + count > static_cast<std::size_t>(settings.max_body);
      if (is_too_large || Clock::now() > until) return false;
      body.append(bytes, count);
      return true;
    });
    if (is_read) return true;
    set_error_and_close(
        response, is_too_large ? too_large() : HttpError(408, "incomplete_body", "the body did not arrive completely"));
    return false;
  }

  void answer(const Endpoint& endpoint, const Request& request, Response& response, const std::string& text,
              const std::shared_ptr<void>& token) {
    try {
      const std::shared_ptr<void> timer = std::make_shared<RequestTimer>(metrics, endpoint.path);
      Body body(text.empty() ? "{}" : text);
      const auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.timeout));
      const auto check = [this, peer = Peer(request.remote_addr, request.remote_port)] {
        if (peer.has_gone()) throw HttpError(499, "client_gone", "the client has gone away");
        if (running.has_to_end()) throw shutting_down();
      };
      Call call{body, settings, models, states, metrics, Clock::now() + time, check};
      const Reply reply = endpoint.answer(call);
      if (!reply.stream) return response.set_content(json_text(reply.json), "application/json");
      response.set_header("Cache-Control", "no-cache");
      response.set_header("X-Accel-Buffering", "no");  // nginx then passes on each part immediately
      response.set_chunked_content_provider(
          "text/event-stream",
          [token, timer, stream = reply.stream](std::size_t, httplib::DataSink& sink) { return write(stream, sink); });
    } catch (const std::exception& error) {
      set_error(response, http_error(error));
    }
  }

  // Writes the whole stream in one call, so that httplib doesn't cut it off when the server stops.
  static bool write(const std::function<void(const Write&)>& stream, httplib::DataSink& sink) {
    const auto send = [&](const std::string& text) { return sink.write(text.data(), text.size()); };
    try {
      stream(send);
    } catch (const std::exception& thrown) {
      const HttpError error = http_error(thrown);
      if (error.status == 499 || !send("data: " + error_text(error) + "\n\n")) return false;
    }
    sink.done();
    return true;
  }

  // Describes the errors that httplib found itself.
  static void describe_error(Response& response) {
    if (!response.body.empty() || response.has_header("Content-Type")) return;
    set_error(response, HttpError(response.status, "invalid_request",
                                  "expected a request in the form of HTTP/1.1, with a head of at most 64 KiB that "
                                  "arrives within 10 seconds, or half a second while other connections wait, and "
                                  "with lines of at most 8 KiB"));
  }

  static void on_exception(Response& response, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      set_error(response, http_error(known));
    }
  }

  void metrics_of(const Request& request, const Response& response) {
    for (const Endpoint& endpoint : endpoints())
      if (endpoint.matches(request.path)) return metrics.count_request(endpoint.path, response.status);
    metrics.count_request("other", response.status);
  }
};

HttpServer::HttpServer(const Settings& settings, Models& models, States& states, Metrics& metrics)
    : impl_(std::make_unique<Impl>(settings, models, states, metrics)) {}

HttpServer::~HttpServer() {
  if (!impl_->accepting.joinable()) return;
  impl_->is_ending = true;
  if (!impl_->has_failed) impl_->server.stop();  // otherwise, httplib has closed its socket
  impl_->accepting.join();
}

int HttpServer::start() {
  const Settings& settings = impl_->settings;
  impl_->threads.emplace(settings.connections);
  int port = static_cast<int>(settings.port);
  if (port == 0) port = impl_->server.bind_to_any_port(settings.host);
  else if (!impl_->server.bind_to_port(settings.host, port)) port = -1;
  if (port < 0)
    throw weft::Error("can't listen on " + settings.host + ":" + std::to_string(settings.port) +
                      "; expected an address of this machine, and a port that no other program uses");
  impl_->lengthen_backlog();
  impl_->accepting = std::thread([this] { impl_->server.listen_after_bind(); });
  while (!impl_->server.is_running() && !impl_->has_failed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return port;
}

bool HttpServer::has_failed() const noexcept { return impl_->has_failed; }

void HttpServer::drain() {
  impl_->is_ending = true;
  impl_->running.drain(std::chrono::duration<double>(impl_->settings.drain));
}

}  // namespace serve
