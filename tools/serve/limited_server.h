// An HTTP server that limits what a client may send before its request is answered. While other connections wait, a
// silent one loses its thread early. From version 0.22 on, httplib limits the lines of a request and their number itself,
// and this class adds nothing. Until version 0.18, httplib reads heads of any length into memory, however slowly they
// come. For the versions between, see WeftDependencies.cmake.
#pragma once
#include <httplib.h>

#include <cstddef>
#include <functional>

#include "serve/answer.h"

namespace serve {

struct RequestLimits {
  std::size_t head_bytes;  // the first line and the headers
  double head_seconds;
  std::size_t body_bytes;  // as it is sent, with the lengths of its chunks
  double body_seconds;
  std::function<bool()> others_wait;  // whether connections wait for a thread
};

class LimitedServer final : public httplib::Server {
 public:
#ifdef CPPHTTPLIB_HEADER_MAX_COUNT
  explicit LimitedServer(const RequestLimits&) {}
#else
  explicit LimitedServer(const RequestLimits& limits) : limits_(limits) {}

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool answer_requests(socket_t socket);
  bool wait_for_request(socket_t socket) const;
  bool answer_request(httplib::Stream& stream, bool is_last, bool& has_to_close);

  RequestLimits limits_;
#endif
};

}  // namespace serve
