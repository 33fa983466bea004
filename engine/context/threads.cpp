#include "context/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "context/backend.h"
#include "weft/error.h"
#include "weft/os.h"

namespace weft {
namespace detail {

namespace {

thread_local Team* led_team = nullptr;  // the team that the calling thread leads, in a region

class LeadScope {
 public:
  explicit LeadScope(Team& team) noexcept { led_team = &team; }
  ~LeadScope() { led_team = nullptr; }
  LeadScope(const LeadScope&) = delete;
  LeadScope& operator=(const LeadScope&) = delete;
};

}  // namespace

bool loops_are_serial() noexcept { return in_task() || (led_team == nullptr && in_foreign_team()); }

void run_tasks(Context& context, Executor* executor, std::int64_t tasks, int threads, const TaskBody& body) {
  if (threads <= 1 || tasks <= 1 || loops_are_serial()) {
    const ContextScope scope(context);
    for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
  } else if (executor != nullptr) {
    Team team(static_cast<int>(std::min<std::int64_t>(tasks, threads)));
    team.post(context, tasks, threads, body);
    executor->run(team.threads(), [&](int thread) { team.take_part(thread); });
    team.finish();
  } else if (led_team != nullptr) {
    led_team->run(context, tasks, threads, body);
  } else {
    const ContextScope scope(context);
    with_team(threads, [&](Team& team) { team.run(context, tasks, threads, body); });
  }
}

void lead_region(int threads, FunctionRef<void()> body) {
  if (threads <= 1 || led_team != nullptr || loops_are_serial()) return body();
  with_team(threads, [&](Team& team) {
    const LeadScope scope(team);
    body();
  });
}

}  // namespace detail

namespace {

constexpr int most_threads = 1024;

std::atomic<int> chosen_threads{0};  // set by set_default_threads; 0: not set

// Returns the first number in an environment variable like OMP_NUM_THREADS, which may be a list ("4,2"). Returns 0 if
// the variable is not set or invalid.
int number_in_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return 0;
  std::string_view text(value);
  text = text.substr(0, text.find(','));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? std::min(number, most_threads) : 0;
}

int usual_threads() {
  int threads = number_in_environment("OMP_NUM_THREADS");
  if (threads == 0) threads = os::available_threads(detail::backend_cpus());
  const int limit = number_in_environment("OMP_THREAD_LIMIT");
  return std::min(limit == 0 ? most_threads : limit, threads);
}

}  // namespace

void detail::check_threads(int count) {
  if (count < 1 || count > most_threads)
    throw Error("[context] expected 1 to " + std::to_string(most_threads) + " threads, got " + std::to_string(count));
}

int default_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  if (chosen != 0) return chosen;
  static const int usual = usual_threads();
  return usual;
}

void set_default_threads(int count) {
  detail::check_threads(count);
  chosen_threads.store(count, std::memory_order_relaxed);
}

}  // namespace weft
