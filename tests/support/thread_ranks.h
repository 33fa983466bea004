// Ranks that are threads of one process.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "train_support.h"
#include "weft/ranks.h"

namespace weft::test {

// The place where ranks exchange data: their contributions to the calls in progress.
class Meeting {
 public:
  explicit Meeting(std::size_t ranks) : size(ranks) {}

  struct Call {
    std::vector<const unsigned char*> from;
    std::vector<std::string> texts;
    std::size_t given = 0, taken = 0;
  };
  // Returns the call of this kind and number. The caller must hold the mutex.
  Call& call(int kind, std::size_t number) {
    Call& found = calls[{kind, number}];
    found.from.resize(size);
    found.texts.resize(size);
    return found;
  }

  // Throws RankError if a rank has aborted. The caller must hold the mutex.
  void check() const {
    if (!aborted.empty()) throw RankError(aborted);
  }

  const std::size_t size;
  std::string aborted;  // the reason
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, std::size_t>, Call> calls;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
  int rank() const noexcept override { return static_cast<int>(rank_); }
  int size() const noexcept override { return static_cast<int>(meeting_.size); }

  std::vector<std::string> exchange(const std::string& text) override {
    std::unique_lock<std::mutex> lock(meeting_.mutex);
    meeting_.check();
    Meeting::Call& call = meeting_.call(0, next_[0]++);
    call.texts[rank_] = text;
    ++call.given;
    meeting_.changed.notify_all();
    meeting_.changed.wait(lock, [&] { return call.given == meeting_.size || !meeting_.aborted.empty(); });
    meeting_.check();
    return call.texts;
  }
  [[noreturn]] void abort(const std::string& reason) override {
    {
      const std::lock_guard<std::mutex> lock(meeting_.mutex);
      if (meeting_.aborted.empty()) meeting_.aborted = "rank " + std::to_string(rank_) + ": " + reason;
    }
    meeting_.changed.notify_all();
    throw RankError(meeting_.aborted);
  }
  std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                      void* to) override {
    const std::size_t own = offset(bytes, rank_), count = bytes[rank_];
    auto* place = static_cast<unsigned char*>(to);
    return begin(1, from, [=](const Meeting::Call& call) {
      for (std::size_t r = 0; r < static_cast<std::size_t>(senders); ++r)
        std::memcpy(place + r * count, call.from[r] + own, count);
    });
  }
  std::unique_ptr<Transfer> from_owners(void* data, const std::vector<std::size_t>& bytes) override {
    auto* place = static_cast<unsigned char*>(data);
    return begin(2, data, [this, place, bytes](const Meeting::Call& call) {
      for (std::size_t r = 0; r < bytes.size(); ++r)
        if (r != rank_) std::memcpy(place + offset(bytes, r), call.from[r] + offset(bytes, r), bytes[r]);
    });
  }

 private:
  struct Copy : Transfer {
    Copy(Meeting& place, Meeting::Call& its_call, std::function<void(const Meeting::Call&)> how)
        : meeting(place), call(its_call), take(std::move(how)) {}
    bool done() override {
      const std::lock_guard<std::mutex> lock(meeting.mutex);
      meeting.check();
      if (call.given < meeting.size) return false;
      if (take) {
        take(call);
        take = nullptr;
        ++call.taken;
      }
      return call.taken == meeting.size;
    }
    Meeting& meeting;
    Meeting::Call& call;
    std::function<void(const Meeting::Call&)> take;
  };

  static std::size_t offset(const std::vector<std::size_t>& bytes, std::size_t rank) {
    return std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
  }
  std::unique_ptr<Transfer> begin(int kind, const void* from, std::function<void(const Meeting::Call&)> take) {
    const std::lock_guard<std::mutex> lock(meeting_.mutex);
    meeting_.check();
    Meeting::Call& call = meeting_.call(kind, next_[kind]++);
    call.from[rank_] = static_cast<const unsigned char*>(from);
    ++call.given;
    return std::make_unique<Copy>(meeting_, call, std::move(take));
  }

  Meeting& meeting_;
  std::size_t rank_, next_[3] = {};
};

// Calls body(ranks) on a thread for each rank. Returns each rank's exception message, which is empty if it threw none.
inline std::vector<std::string> on_ranks(std::size_t size, const std::function<void(Ranks&)>& body) {
  Meeting meeting(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank);
      try {
        body(ranks);
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline TrainOptions options_of(Ranks* ranks, std::int64_t steps, std::int64_t micro_batches = 2) {
  TrainOptions options = small_options(steps, micro_batches);
  options.ranks = ranks;
  return options;
}

// Returns whether all ranks have the same error message and the message contains `part`.
inline bool all_say(const std::vector<std::string>& errors, const std::string& part) {
  for (const std::string& error : errors)
    if (error != errors[0] || error.find(part) == std::string::npos) {
      MESSAGE(error);
      return false;
    }
  return true;
}

}  // namespace weft::test
