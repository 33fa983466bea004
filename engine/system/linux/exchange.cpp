#include "system/posix/exchange.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::os {

bool exchange_names(const std::string& a, const std::string& b) noexcept {
  // As a system call, because musl has no renameat2() before 1.2.5.
  return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace weft::os
