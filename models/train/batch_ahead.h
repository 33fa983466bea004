// Prepares the batches of the next training step on its own thread while a step computes. A batch depends only on its
// number, so this changes nothing but the time.
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
  // A step has `count` batches, of which this object prepares every `stride`-th from `first` on. Data and generator
  // must outlive it. If the current Context has only one thread, or the system has no more threads, it uses no thread
  // of its own.
  BatchAhead(const Data& data, const Random& random, std::int64_t count, std::int64_t first = 0,
             std::int64_t stride = 1);
  // Waits for batches that are being prepared.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Returns this object's batches of the step, among the batches step · count … (step + 1) · count - 1. The thread then
  // prepares those of step + 1. An exception that Data::training threw for them is rethrown here.
  std::vector<Batch> take(std::int64_t step);

 private:
  std::vector<Batch> prepare(std::int64_t step) const;
  void work();

  const Data& data_;
  Random random_;
  std::int64_t count_, first_, stride_;
  Isa isa_;  // of the thread that made this object
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t wanted_ = -1, ready_ = -1;  // steps: to prepare next, and prepared
  std::vector<Batch> batches_;
  std::exception_ptr error_;  // instead of the batches
  bool ends_ = false;
  std::thread thread_;  // declared last: it uses the others; not started with one thread
};

}  // namespace weft::detail
