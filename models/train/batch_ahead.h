// Prepares the batches of the next training step on a thread of its own while a step computes. A batch depends on its
// number alone, so nothing changes but the time.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/context.h"
#include "weft/data.h"

namespace weft::detail {

class BatchAhead {
 public:
  // A step has `count` batches, of which this takes every `stride`-th from `first` on. Data and generator must outlive it.
  // Where the current Context has one thread, or the system no other, so has this.
  BatchAhead(const Data& data, const Random& random, std::int64_t count, std::int64_t first = 0,
             std::int64_t stride = 1);
  // Waits for batches that are being prepared.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Those of the batches step · count … (step + 1) · count - 1 that it takes; the thread goes on to those of step + 1. What Data::training throws
  // for them comes out here.
  std::vector<Batch> take(std::int64_t step);

 private:
  std::vector<Batch> prepare(std::int64_t step) const;
  void work();

  const Data& data_;
  Random random_;
  std::int64_t count_, first_, stride_;
  Isa isa_;  // of the thread that made it
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t wanted_ = -1, ready_ = -1;  // steps: the one to prepare for, and the one whose batches are there
  std::vector<Batch> batches_;
  std::exception_ptr error_;  // in place of the batches
  bool ends_ = false;
  std::thread thread_;  // the last: it uses the others. None with one thread
};

}  // namespace weft::detail
