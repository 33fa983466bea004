#include "serve/answer.h"

#include <utility>

namespace serve {

bool Answer::add(Piece piece) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (!cancelled_) pieces_.push_back(std::move(piece));
  } catch (const std::bad_alloc&) {
    cancelled_ = true;
  }
  changed_.notify_one();
  return !cancelled_;
}

std::optional<Piece> Answer::next(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return !pieces_.empty() || cancelled_; });
  if (pieces_.empty()) return {};
  std::optional<Piece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

void Answer::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_one();
}

bool Answer::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace serve
