// The HTTP/1.1 server: paths, keys, limits of requests, and how answers and errors are written. Only this file's source
// uses httplib.
#pragma once
#include <memory>
#include <string>

#include "serve/models.h"
#include "serve/states.h"

namespace serve {

class HttpServer {
 public:
  // All arguments must outlive the object.
  HttpServer(const Settings& settings, Models& models, States& states, Metrics& metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Starts to accept connections, and returns the port. Throws an Error if the address can't be used, or if the system
  // refuses the threads of the connections.
  int start();
  // Whether the system refuses connections, so that the server must end. wait_for_signal() then returns Wish::stop.
  bool has_failed() const noexcept;
  // Refuses new requests, waits up to Settings::drain seconds for the running ones, and ends those that are left.
  void drain();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace serve
