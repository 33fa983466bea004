// Prepares the next training batch on a thread of its own while a step computes. A batch depends on its number alone, so
// nothing changes but the time.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "weft/context.h"
#include "weft/data.h"

namespace weft::detail {

class BatchAhead {
 public:
  // Both must outlive it.
  BatchAhead(const Data& data, const Random& random);
  // Waits for a batch that is being prepared.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Batch k; the thread goes on to k + 1. What Data::training throws for k comes out here.
  Batch take(std::int64_t k);

 private:
  void work();

  const Data& data_;
  Random random_;
  Isa isa_;  // of the thread that made it
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t wanted_ = -1, ready_ = -1;  // numbers of batches: the one to prepare, and the one that is there
  Batch batch_;
  std::exception_ptr error_;  // in place of the batch
  bool ends_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace weft::detail
