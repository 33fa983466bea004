// The client at the other end of a request's connection.
#pragma once
#include <string>

namespace serve {

class Peer {
 public:
  // Finds the connection by the address of its other end, because httplib does not tell a handler the socket.
  Peer(const std::string& address, int port);
  // Whether the client has closed the connection.
  bool has_gone() const noexcept;

 private:
  int socket_ = -1;
};

}  // namespace serve
