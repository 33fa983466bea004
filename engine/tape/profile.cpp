#include "weft/profile.h"

#include "weft/detail/op_timer.h"

namespace weft {
using namespace detail;

namespace {

thread_local Profile* current_profile = nullptr;

}  // namespace

Profile::Profile() noexcept : below_(current_profile) { current_profile = this; }

Profile::~Profile() {
  for (Profile** profile = &current_profile; *profile != nullptr; profile = &(*profile)->below_)
    if (*profile == this) {
      *profile = below_;
      return;
    }
}

namespace detail {

OpTimer::OpTimer(const char* op, double OpTime::*part) : profile_(current_profile) {
  if (!profile_) return;
  if (part == &OpTime::forward && profile_->running_) {
    profile_ = nullptr;
    return;
  }
  OpTime& time = profile_->ops_[op];
  time.calls += part == &OpTime::forward;
  seconds_ = &(time.*part);
  caller_ = profile_->running_;
  profile_->running_ = this;
  start_ = Clock::now();
}

OpTimer::~OpTimer() {
  if (!profile_) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  *seconds_ += elapsed - inside_;
  if (caller_) caller_->inside_ += elapsed;
  profile_->running_ = caller_;
}

}  // namespace detail
}  // namespace weft
