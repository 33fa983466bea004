// Adds up the ranks' gradients in rank order, in buckets, while backward still computes the rest.
//
// A step has rounds; in each a rank computes the gradient of one micro-batch, or of none. The flat gradient is cut into
// buckets, and each bucket into a piece for each rank, its owner: to_owners, the owner's sum g_0 + g_1 + …, and after the
// last round from_owners. The sum over rounds and ranks is that of one process over its micro-batches, bit by bit. Of G
// bytes of gradient a rank sends (1 + 1 / rounds) · G · (1 - 1 / ranks) for each round.
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

#include "weft/parameter_set.h"
#include "weft/ranks.h"

namespace weft::detail {

// Of the flat gradient.
struct GradientBucket {
  std::int64_t begin, end;         // elements
  std::vector<std::size_t> bytes;  // of each owner's piece
  std::int64_t own_begin, own;     // this rank's piece: its first element, and how many
};

// In the order in which backward is expected to complete them: from the last matrix to the first, then the vectors, of
// which the first layers' stand beside the last layers'. What that order is changes time alone.
std::vector<GradientBucket> gradient_buckets(ParameterSet& set, int ranks, int rank);

class GradientExchange : public GradientSink {
 public:
  // Both must outlive it. At most `rounds` in a step. Where the system has no thread for it, finish() does all.
  GradientExchange(Ranks& ranks, ParameterSet& set, std::int64_t rounds);
  ~GradientExchange() override;

  struct Round {
    int senders;       // the ranks below have a micro-batch
    bool first, last;  // of the step
  };
  // Before the backward pass of a round, or in place of one.
  void next_round(const Round& round);
  // Waits for the round before, whose gradients the set's buffer still has, and zeroes them.
  void begin(const std::vector<Leaf>& leaves) override;
  void complete(const Leaf& leaf, Tensor gradient) override;
  // After backward, whether or not it succeeded: what wasn't completed counts as complete.
  void end_round();
  // After the last round: waits until the set has all ranks' sums. If one of this rank's transfers failed this throws why, and
  // so does all that waits from then on: others wait for what they will not get, and Ranks::abort() is what is left.
  void finish();

  std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }  // to other ranks
  double seconds_waited() const noexcept {
    return seconds_waited_;
  }  // for transfers, when there was nothing else to do

 private:
  void open();
  void count_ready();
  void wait_for_round();
  bool drive();
  void send(std::size_t b);
  void add_up(std::size_t b);
  void give_back(std::size_t b);
  void work();

  Ranks& ranks_;
  ParameterSet& set_;
  const std::vector<GradientBucket> buckets_;
  std::unordered_map<const void*, const ParameterSet::Entry*> entries_;  // by Parameter::id
  std::vector<int> entries_in_;                                          // of each bucket
  std::vector<int> missing_;                                             // of these, in this round
  Tensor sums_;                           // of earlier rounds, own pieces, bucket by bucket; undefined with one round
  std::vector<std::int64_t> sum_places_;  // of each bucket's piece in it
  Tensor received_;                       // (slots, pieces of all ranks)
  std::int64_t slot_size_ = 0;            // elements

  Round next_{0, true, true};
  bool open_ = false;                  // whether the round's backward has begun
  std::atomic<std::size_t> ready_{0};  // buckets, in order

  std::mutex mutex_;  // of what follows
  std::condition_variable begun_;
  Round round_{0, true, true};
  bool active_ = false, ends_ = false;
  std::size_t sent_ = 0, added_ = 0, returned_ = 0;                // buckets, in order
  std::deque<std::unique_ptr<Transfer>> to_owners_, from_owners_;  // under way
  std::exception_ptr error_;  // stays: what is under way then belongs to no later round
  std::uint64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
  std::thread thread_;
};

}  // namespace weft::detail
