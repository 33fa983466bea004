// Prepares the batches of the next training steps on threads of its own while a step computes. A batch depends only on
// its number, so this changes nothing but the time.
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

namespace weft::detail {

class BatchAhead {
 public:
  // A step has `count` batches, of which this object prepares every `stride`-th from `first` on. Data and generator
  // must outlive it. It starts `loaders` threads, and as many as the system has; without any, take() prepares the
  // batches. At most loaders + 1 steps are kept ready, and none beyond the run's last, `steps` - 1, before take() asks.
  BatchAhead(const Data& data, const Random& random, std::int64_t steps, std::int64_t count, std::int64_t first,
             std::int64_t stride, std::int64_t loaders);
  // Waits for batches that are being prepared.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Returns this object's batches of the step, among the batches step · count … (step + 1) · count - 1. The threads
  // then prepare those of the following steps. An exception that Data::training threw for them is rethrown here.
  std::vector<Batch> take(std::int64_t step);
  // The time that take() has taken.
  double seconds_waited() const noexcept { return seconds_waited_; }

  // One if the current Context has several threads, else none.
  static std::int64_t usual_loaders() { return Context::current().threads() > 1 ? 1 : 0; }

 private:
  struct Prepared {
    std::vector<Batch> batches;
    std::exception_ptr error;  // instead of the batches
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
  std::int64_t loaders_;  // threads, if the system has as many
  Isa isa_;               // of the thread that made this object
  double seconds_waited_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::int64_t awaited_ = -1, next_ = -1;  // steps: that take() needs next, and that a thread prepares next; -1: none
  std::int64_t asked_ = -1;                // the step that take() waits for; -1: none
  std::int64_t restarts_ = 0;              // how often the order of steps was broken
  std::map<std::int64_t, Prepared> ready_;
  bool ends_ = false;
  std::vector<std::thread> threads_;  // declared last: they use the others
};

}  // namespace weft::detail
