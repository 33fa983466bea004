#include "serve/limited_server.h"

#ifndef CPPHTTPLIB_HEADER_MAX_COUNT

#include <algorithm>
#include <chrono>
#include <new>
#include <string>

namespace serve {
namespace {

// While other connections wait for a thread, a request must begin within this time, and its head must end within this
// time after that. Larger: silent connections hold up the others for longer. Smaller: a slow client may lose its
// connection.
constexpr double hurried_seconds = 0.5;

constexpr time_t poll_microseconds = 100'000;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Reads a request from another stream, which waits for bytes for at most poll_microseconds. Reading fails if the head or
// the body has too many bytes, takes too long, or doesn't continue within `silent_seconds`.
class LimitedStream final : public httplib::Stream {
 public:
  LimitedStream(httplib::Stream& stream, const RequestLimits& limits, double silent_seconds)
      : stream_(stream),
        limits_(limits),
        silent_seconds_(silent_seconds),
        bytes_(limits.head_bytes),
        until_(after(limits.head_seconds)) {}

  void begin_body() {
    is_head_ = false;
    bytes_ = limits_.body_bytes;
    until_ = after(limits_.body_seconds);
  }

  ssize_t read(char* bytes, std::size_t count) override {
    const ssize_t got = read_in_time(bytes, std::min(count, bytes_));
    if (got > 0) bytes_ -= static_cast<std::size_t>(got);
    else has_failed_ = true;
    return got;
  }

  bool has_failed() const { return has_failed_; }

  ssize_t write(const char* bytes, std::size_t count) override { return stream_.write(bytes, count); }
  bool is_readable() const override { return stream_.is_readable(); }
  bool is_writable() const override { return stream_.is_writable(); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { stream_.get_remote_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { stream_.get_local_ip_and_port(ip, port); }
  socket_t socket() const override { return stream_.socket(); }

 private:
  // A stream whose read() fails may have waited in vain, or its connection has an error. Then it is readable.
  ssize_t read_in_time(char* bytes, std::size_t count) {
    const auto silent_until = after(silent_seconds_);
    while (count > 0 && has_time(silent_until)) {
      if (const ssize_t got = stream_.read(bytes, count); got >= 0) return got;
      if (stream_.is_readable()) return stream_.read(bytes, count);
    }
    return -1;
  }

  bool has_time(Clock::time_point silent_until) const {
    const auto now = Clock::now();
    const bool has_to_hurry = is_head_ && now > hurried_until_ && limits_.others_wait();
    return now <= until_ && now <= silent_until && !has_to_hurry;
  }

  httplib::Stream& stream_;
  const RequestLimits& limits_;
  const double silent_seconds_;
  bool is_head_ = true;
  std::size_t bytes_;  // that may still arrive
  Clock::time_point until_;
  const Clock::time_point hurried_until_ = after(hurried_seconds);
  bool has_failed_ = false;
};

}  // namespace

// Without memory for the head of a request, only its connection ends.
bool LimitedServer::process_and_close_socket(socket_t socket) {
  bool is_answered = false;
  try {
    is_answered = answer_requests(socket);
  } catch (const std::bad_alloc&) {
    // The connection is closed without an answer.
  }
  ::shutdown(socket, SHUT_RDWR);
  httplib::detail::close_socket(socket);
  return is_answered;
}

bool LimitedServer::answer_requests(socket_t socket) {
  bool is_answered = false;
  for (std::size_t left = keep_alive_max_count_; left > 0 && wait_for_request(socket); --left) {
    const bool is_last = left == 1 || limits_.others_wait();
    bool has_to_close = false;
    is_answered = httplib::detail::process_client_socket(
        socket, 0, poll_microseconds, write_timeout_sec_, write_timeout_usec_,
        [&](httplib::Stream& stream) { return answer_request(stream, is_last, has_to_close); });
    if (!is_answered || is_last || has_to_close) break;
  }
  return is_answered;
}

// Returns false if the client has closed the connection or is silent for too long, or if the server stops.
bool LimitedServer::wait_for_request(socket_t socket) const {
  const auto until = after(static_cast<double>(keep_alive_timeout_sec_)), hurried_until = after(hurried_seconds);
  while (svr_sock_ != INVALID_SOCKET && Clock::now() < (limits_.others_wait() ? hurried_until : until))
    if (httplib::detail::process_client_socket(socket, 0, poll_microseconds, 0, 0,
                                               [](httplib::Stream& stream) { return stream.is_readable(); }))
      return true;
  return false;
}

// httplib calls `end_head` between the head and the body of a request. From version 0.18 on, it expects the addresses. If
// the request is incomplete, it may answer with an error, but what follows isn't the beginning of another request.
bool LimitedServer::answer_request(httplib::Stream& stream, bool is_last, bool& has_to_close) {
  LimitedStream limited(stream, limits_, static_cast<double>(read_timeout_sec_));
  const auto end_head = [&](httplib::Request&) { limited.begin_body(); };
  const bool is_answered = [&](auto& server) {
    if constexpr (requires { server.process_request(limited, is_last, has_to_close, end_head); }) {
      return server.process_request(limited, is_last, has_to_close, end_head);
    } else {
      std::string ip, local_ip;
      int port = 0, local_port = 0;
      limited.get_remote_ip_and_port(ip, port);
      limited.get_local_ip_and_port(local_ip, local_port);
      return server.process_request(limited, ip, port, local_ip, local_port, is_last, has_to_close, end_head);
    }
  }(*this);
  has_to_close |= limited.has_failed();
  return is_answered;
}

}  // namespace serve

#endif
