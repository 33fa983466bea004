// Runs code in a child process, because some changes to a process can't be undone (limits, users, mounts) or can end
// the process.
#pragma once
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace weft::test {

// The result of a child: the first expectation that failed, or the reason why the child could not check.
class Findings {
 public:
  void expect(bool right, const std::string& what) {
    if (!right && text_.empty()) text_ = what;
  }
  // Call this if the system doesn't allow the test's operations.
  void skip(const std::string& why) {
    if (text_.empty()) text_ = "skipped: " + why;
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Runs `body` in a child process and returns its findings. If the child does not end normally, they are "signal N",
// "exit N" or, after two minutes, "hangs".
inline std::string found_in_child(const std::function<void(Findings&)>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no child";
  if (child == 0) {
    Findings findings;
    try {
      body(findings);
    } catch (const std::exception& error) {
      findings.expect(false, std::string("an exception: ") + error.what());
    }
    (void)!::write(ends[1], findings.text().data(), findings.text().size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  pollfd waiting{ends[0], POLLIN, 0};
  bool hangs = false;
  for (ssize_t size = 1; size > 0;) {
    hangs = ::poll(&waiting, 1, 120000) == 0;
    if (hangs) break;
    size = ::read(ends[0], part, sizeof part);
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  if (hangs) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (hangs) return "hangs";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exit " + std::to_string(WEXITSTATUS(status));
  return text;
}

#define WEFT_CHECK_IN_CHILD(...)                                         \
  do {                                                                   \
    const std::string found = ::weft::test::found_in_child(__VA_ARGS__); \
    if (found.rfind("skipped: ", 0) == 0) MESSAGE(found);                \
    else CHECK(found == "");                                             \
  } while (false)

// Sets a limit while in scope.
class Limit {
 public:
  Limit(int resource, rlim_t most) : resource_(resource) {
    ::getrlimit(kind(), &before_);
    const rlimit now{most, before_.rlim_max};
    ::setrlimit(kind(), &now);
  }
  ~Limit() { ::setrlimit(kind(), &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource_t kind() const { return static_cast<__rlimit_resource_t>(resource_); }
  int resource_;
  rlimit before_{};
};

// Drops the privileges of the process, if it has any, by changing its user. Returns false if that is not possible.
inline bool without_privileges() {
  constexpr unsigned nobody = 65534;
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
}

// Mounts a file system of this size on the folder, visible only to this process. Returns false if that is not possible.
inline bool mount_small(const std::string& folder, std::size_t bytes) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (user != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string size = "size=" + std::to_string(bytes);
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

// Counts the temporary files in the folder and its subfolders that a killed writer left behind.
inline std::size_t temporary_files(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    count += entry.path().filename().string().rfind(".weft-", 0) == 0;
  return count;
}

}  // namespace weft::test
