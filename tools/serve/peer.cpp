#include "serve/peer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <cerrno>

namespace serve {
namespace {

// Returns whether the socket's other end has this address.
bool leads_to(int socket, const std::string& address, int port) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  return ::getnameinfo(reinterpret_cast<sockaddr*>(&peer), length, host, sizeof host, service, sizeof service,
                       NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
         address == host && std::to_string(port) == service;
}

}  // namespace

Peer::Peer(const std::string& address, int port) {
  for (int socket = 0; socket < FD_SETSIZE && socket_ < 0; ++socket)  // httplib uses no higher numbers
    if (leads_to(socket, address, port)) socket_ = socket;
}

bool Peer::has_gone() const noexcept {
  char byte;
  const ssize_t count = socket_ < 0 ? 1 : ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace serve
