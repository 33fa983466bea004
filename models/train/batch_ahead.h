// Prepares the batches of the next training steps on separate threads while the current step is computed. A batch
// depends only on its number, so the preparation affects only the run time.
#pragma once
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "weft/context.h"
#include "weft/data.h"
#include "weft/trainer.h"  // declares the class hidden

namespace weft::detail {

class BatchAhead {
 public:
  // A step has `count` batches. This object prepares every `stride`-th of them, starting with `first`. `data` must
  // outlive this object. The object starts `loaders` threads, or fewer if the system refuses more. Without threads,
  // take() prepares the batches. At most loaders + 1 steps are kept ready. Steps after the last one of the run, `steps`
  // - 1, are prepared only when take() asks for them.
  BatchAhead(const Data& data, const Random& random, std::int64_t steps, std::int64_t count, std::int64_t first,
             std::int64_t stride, std::int64_t loaders);
  // Waits for the batches that are being prepared.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Returns this object's part of the step's batches, which have the numbers from step · count to (step + 1) · count -
  // 1. The threads then prepare the batches of the following steps. If Data::training threw an exception for a returned
  // batch, take() rethrows it.
  std::vector<Batch> take(std::int64_t step);
  // The total duration of all calls of take().
  double seconds_waited() const noexcept { return seconds_waited_; }

  // Returns 1 if the current Context has several threads, otherwise 0.
  static std::int64_t usual_loaders() { return Context::current().threads() > 1 ? 1 : 0; }

 private:
  struct Prepared {
    std::vector<Batch> batches;
    std::exception_ptr error;  // set instead of the batches
  };
  void start(std::int64_t loaders);
  Prepared prepare(std::int64_t step) const;
  std::vector<Batch> wait_for(std::int64_t step);
  bool has_work() const;
  void begin_at(std::int64_t step);
  void work();

  const Data& data_;
  Random random_;
  std::int64_t steps_, count_, first_, stride_;
  std::int64_t loaders_;  // the number of threads, unless the system refuses some
  Isa isa_;               // the ISA of the thread that made this object
  double seconds_waited_ = 0;
  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::int64_t awaited_ = -1, next_ = -1;  // the steps that take() needs and a thread prepares next; -1: none
  std::int64_t asked_ = -1;                // the step that take() waits for; -1: none
  std::int64_t restarts_ = 0;              // how often take() asked for a step out of order
  std::map<std::int64_t, Prepared> ready_;
  bool ends_ = false;
  std::vector<std::thread> threads_;  // declared last, because they use the other members
};

}  // namespace weft::detail
