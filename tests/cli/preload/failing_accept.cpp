// Preloaded into weft. Makes its second call of accept fail with the error WEFT_ACCEPT_ERROR, as if all processes together
// had too many files open, for example.
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

int result(int socket) {
  static const char* const error = std::getenv("WEFT_ACCEPT_ERROR");
  static std::atomic<int> calls{0};
  if (error == nullptr || socket < 0 || ++calls != 2) return socket;
  ::close(socket);
  errno = std::atoi(error);
  return -1;
}

}  // namespace

extern "C" {

int accept(int listening, sockaddr* address, socklen_t* length) {
  static const auto next = reinterpret_cast<int (*)(int, sockaddr*, socklen_t*)>(::dlsym(RTLD_NEXT, "accept"));
  return result(next(listening, address, length));
}
int accept4(int listening, sockaddr* address, socklen_t* length, int flags) {
  static const auto next = reinterpret_cast<int (*)(int, sockaddr*, socklen_t*, int)>(::dlsym(RTLD_NEXT, "accept4"));
  return result(next(listening, address, length, flags));
}

}  // extern "C"
