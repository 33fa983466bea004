// Adds up the ranks' gradients in rank order, bucket by bucket, while backward still computes the remaining gradients.
//
// A step has rounds. In each round, a rank computes the gradient of at most one micro-batch. The flat gradient is split
// into buckets. Each bucket is split into one piece per rank, and the rank is the owner of its piece. In each round,
// every rank sends its pieces to their owners (to_owners), and each owner computes the sum g_0 + g_1 + … of its piece.
// After the last round, the owners send the sums to all ranks (from_owners).
//
// To make results independent of the number of ranks, each gradient is added separately: the sum over rounds and ranks
// has the same bits as the sum that one process computes over all micro-batches. If each rank first computed its own
// sum g_r + g_(r + ranks) + …, the result would be rounded differently. Therefore each round sends its gradients to the
// owners. For G bytes of gradient, a rank sends on average (1 + 1 / rounds) · G · (1 - 1 / ranks) bytes per round.
//
// If the ranks send bf16, each of them rounds its gradients before it sends them, and each owner rounds its sums. All
// ranks, including the owner, then use the rounded sums. Sums are computed in the parameters' dtype.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "train/gradient_rounding.h"
#include "weft/parameter_set.h"
#include "weft/ranks.h"
#include "weft/trainer.h"  // declares the class hidden

namespace weft::detail {

// A bucket of the flat gradient.
struct GradientBucket {
  std::int64_t begin, end;         // elements
  std::vector<std::size_t> bytes;  // the size of each owner's piece
  std::int64_t own_begin, own;     // this rank's piece: its first element and its number of elements
};

// The buckets in the order in which backward probably completes them: from the last matrix to the first, then the
// vectors. The vectors come last because the vectors of the first and the last layers are stored next to each other.
// The order affects only the time. `sent` is the dtype of what is sent.
std::vector<GradientBucket> gradient_buckets(ParameterSet& set, DType sent, int ranks, int rank);

class GradientExchange : public GradientSink {
 public:
  // `ranks` and `set` must outlive the object. A step has at most `rounds` rounds. Ranks send gradients of the dtype
  // `sent`: bf16, or the parameters' own dtype. If the system refuses to start a thread, the functions that wait for a
  // round do all the work.
  GradientExchange(Ranks& ranks, ParameterSet& set, DType sent, std::int64_t rounds);
  ~GradientExchange() override;

  struct Round {
    int senders;       // only the ranks 0 … senders - 1 have a micro-batch
    bool first, last;  // whether it is the first or the last round of the step
  };
  // Call this before the backward pass of a round, or instead of one if this rank has no micro-batch.
  void next_round(const Round& round);
  // Waits for the previous round, whose gradients are still in the set's buffer, and then zeroes the buffer.
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  // Call this after backward, even if it failed: leaves that were not completed count as complete.
  void end_round();
  // Call this after the last round. It waits until the set has the sums of all ranks. If one of this rank's transfers
  // failed, this call and all later waits throw its exception. The other ranks then wait for data that never arrives,
  // so the caller can only call Ranks::abort().
  void finish();

  // Forgets what rounding has taken away from earlier gradients. Call this between two steps.
  void forget_rounding();

  std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }   // to other ranks
  double seconds_waited() const noexcept { return seconds_waited_; }  // time spent only waiting for transfers

 private:
  void open();
  void count_ready();
  void wait_for_round();
  bool drive();
  void send(std::size_t b);
  void add_up(std::size_t b);
  void give_back(std::size_t b);
  void take_back(std::size_t b);
  void work();

  Ranks& ranks_;
  ParameterSet& set_;
  const std::vector<GradientBucket> buckets_;
  std::unordered_map<const void*, const ParameterSet::Entry*> entries_;  // by Parameter::id
  std::vector<int> entries_in_;                                          // number of entries in each bucket
  // The number of these entries that are still missing in this round.
  std::vector<int> missing_;
  // The sums of earlier rounds for this rank's pieces, bucket by bucket; undefined if a step has one round.
  Tensor sums_;
  std::vector<std::int64_t> sum_places_;  // the offset of each bucket's piece in sums_
  Tensor received_;                       // (slots, pieces of all ranks)
  std::int64_t slot_size_ = 0;            // elements

  // The members that exist only if the ranks send rounded gradients, which are of another dtype than the parameters.
  struct Rounded {
    GradientRounding of_gradient, of_sums;
    Tensor gradients;  // on their way to the owners: (slots, largest bucket)
    Tensor sums;       // on their way from the owners: as long as the flat gradient
    std::int64_t bucket_size;
  };
  std::unique_ptr<Rounded> rounded_;

  Round next_{0, true, true};
  bool open_ = false;                  // whether backward of the round has begun
  std::atomic<std::size_t> ready_{0};  // the first ready_ buckets are complete

  std::mutex mutex_;  // protects the members below
  std::condition_variable begun_;
  Round round_{0, true, true};
  bool active_ = false, ends_ = false;
  std::size_t sent_ = 0, added_ = 0, returned_ = 0;                // numbers of buckets, counted from the first
  std::deque<std::unique_ptr<Transfer>> to_owners_, from_owners_;  // under way
  std::exception_ptr error_;  // never reset, because later rounds can't use transfers that are still under way
  std::uint64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
  std::thread thread_;
};

}  // namespace weft::detail
