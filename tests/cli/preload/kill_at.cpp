// Preloaded into weft. Kills it with SIGKILL instead of making its n-th call that changes or syncs a file, where n is
// WEFT_KILL_AT.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

void count() {
  static const char* const at = std::getenv("WEFT_KILL_AT");
  static const long limit = at == nullptr ? 0 : std::atol(at);
  static std::atomic<long> calls{0};
  if (++calls == limit) ::raise(SIGKILL);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) {
  count();
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  count();
  return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                  flags);
}
int link(const char* from, const char* to) {
  count();
  return next<int (*)(const char*, const char*)>("link")(from, to);
}
int unlink(const char* path) {
  count();
  return next<int (*)(const char*)>("unlink")(path);
}
int unlinkat(int folder, const char* path, int flags) {
  count();
  return next<int (*)(int, const char*, int)>("unlinkat")(folder, path, flags);
}
int remove(const char* path) {
  count();
  return next<int (*)(const char*)>("remove")(path);
}
int mkdir(const char* path, mode_t mode) {
  count();
  return next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
int fsync(int descriptor) {
  count();
  return next<int (*)(int)>("fsync")(descriptor);
}
int ftruncate(int descriptor, off_t size) {
  count();
  return next<int (*)(int, off_t)>("ftruncate")(descriptor, size);
}
int truncate(const char* path, off_t size) {
  count();
  return next<int (*)(const char*, off_t)>("truncate")(path, size);
}
ssize_t write(int descriptor, const void* data, size_t bytes) {
  if (descriptor > 2) count();
  return next<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, data, bytes);
}
}
