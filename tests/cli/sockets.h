// Connections to weft serve that send and receive bytes of any kind.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "served.h"

namespace weft::test {

// `room` is the number of bytes that may wait for a read, or 0 for the usual number.
inline int connect(const Served& served, int room = 0) {
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
inline bool send(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Receives bytes until one is `last`, the server closes the connection, or 20 seconds have passed without any.
inline std::string receive(int socket, char last) {
  const timeval patience{20, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string received;
  char byte;
  while ((received.empty() || received.back() != last) && ::recv(socket, &byte, 1, 0) == 1) received += byte;
  return received;
}

// Whether the next answer has the status 200. Its content is JSON.
inline bool is_answered(int socket) { return receive(socket, '}').rfind("HTTP/1.1 200 ", 0) == 0; }

}  // namespace weft::test
