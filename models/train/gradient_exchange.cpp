#include "train/gradient_exchange.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "weft/context.h"

namespace weft::detail {
namespace {

// bench: bench/ranks/ranks. Larger buckets: a larger part of the transfer remains after backward. Smaller: the
// network's latency dominates. The two sizes are in bytes; buckets_at_least is a number of buckets.
constexpr std::int64_t largest_bucket = 4 << 20, smallest_bucket = 128 << 10, buckets_at_least = 16;
constexpr std::size_t slots = 4;                        // the maximum number of buckets on their way to owners
constexpr std::int64_t piece_alignment = 16;            // elements
constexpr auto pause = std::chrono::microseconds(250);  // between polls, because polls take CPU time from backward
constexpr auto rest = std::chrono::milliseconds(5);     // a pause without transfers, in case of a missed notification
constexpr int looks_without_pause = 2000;               // number of polls before a waiting thread begins to pause

bool is_vector(const ParameterSet::Entry& entry) { return entry.parameter.value().rank() < 2; }

GradientBucket bucket_of(std::int64_t begin, std::int64_t end, std::int64_t element, int ranks, int rank) {
  const auto place = [&](int owner) {
    return owner == ranks ? end : begin + (end - begin) * owner / ranks / piece_alignment * piece_alignment;
  };
  GradientBucket bucket{begin, end, {}, place(rank), place(rank + 1) - place(rank)};
  for (int owner = 0; owner < ranks; ++owner)
    bucket.bytes.push_back(static_cast<std::size_t>((place(owner + 1) - place(owner)) * element));
  return bucket;
}

bool overlap(const ParameterSet::Entry& entry, const GradientBucket& bucket) {
  return entry.offset < bucket.end && entry.offset + entry.numel > bucket.begin;
}

Tensor part(const Tensor& flat, std::int64_t begin, std::int64_t count) { return flat.view({count}, {1}, begin); }

double seconds_waited_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(ParameterSet& set, DType sent, int ranks, int rank) {
  const auto element = static_cast<std::int64_t>(dtype_size(sent));
  const std::int64_t all = set.values().numel();
  const std::int64_t size = std::clamp(all * element / buckets_at_least, smallest_bucket, largest_bucket) / element;
  const auto vectors = std::find_if(set.entries().begin(), set.entries().end(), is_vector);
  const std::int64_t matrices_end = vectors == set.entries().end() ? all : vectors->offset;
  std::vector<GradientBucket> buckets;
  for (std::int64_t end = matrices_end; end > 0; end -= size)
    buckets.push_back(bucket_of(std::max<std::int64_t>(0, end - size), end, element, ranks, rank));
  for (std::int64_t end = all; end > matrices_end; end -= size)
    buckets.push_back(bucket_of(std::max(matrices_end, end - size), end, element, ranks, rank));
  return buckets;
}

GradientExchange::GradientExchange(Ranks& ranks, ParameterSet& set, DType sent, std::int64_t rounds)
    : ranks_(ranks), set_(set), buckets_(gradient_buckets(set, sent, ranks.size(), ranks.rank())) {
  entries_in_.resize(buckets_.size());
  for (const ParameterSet::Entry& entry : set.entries()) {
    entries_[entry.parameter.id()] = &entry;
    for (std::size_t b = 0; b < buckets_.size(); ++b) entries_in_[b] += overlap(entry, buckets_[b]);
  }
  std::int64_t own = 0, largest = 0;
  for (const GradientBucket& bucket : buckets_) {
    sum_places_.push_back(own);
    own += bucket.own;
    slot_size_ = std::max(slot_size_, bucket.own * ranks.size());
    largest = std::max(largest, bucket.end - bucket.begin);
  }
  const DType dtype = set.values().dtype();
  const std::int64_t all = set.values().numel();
  constexpr auto slot_count = static_cast<std::int64_t>(slots);
  if (rounds > 1) sums_ = Tensor::zeros({own}, dtype);
  missing_ = entries_in_;  // allocates its memory
  received_ = Tensor::empty({slot_count * slot_size_}, sent);
  if (sent != dtype)
    rounded_ = std::make_unique<Rounded>(Rounded{
        {all, dtype}, {own, dtype}, Tensor::empty({slot_count * largest}, sent), Tensor::empty({all}, sent), largest});
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // the system refused another thread, so wait_for_round() does the work
  }
}

GradientExchange::~GradientExchange() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GradientExchange::next_round(const Round& round) {
  if (round.first) wait_for_round();  // the previous round may belong to a failed step
  next_ = round;
  open_ = false;
}

void GradientExchange::open() {
  if (open_) return;
  wait_for_round();
  set_.zero_gradients();
  missing_ = entries_in_;
  ready_ = 0;
  open_ = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    round_ = next_;
    sent_ = added_ = returned_ = 0;
    active_ = true;
  }
  begun_.notify_all();
}

void GradientExchange::begin(const std::vector<Leaf>& leaves) {
  open();
  set_.begin(leaves);
}

void GradientExchange::complete(const Leaf& leaf, Tensor gradient) {
  set_.complete(leaf, std::move(gradient));
  const auto entry = entries_.find(leaf.parameter);
  if (entry == entries_.end()) return;
  for (std::size_t b = 0; b < buckets_.size(); ++b) missing_[b] -= overlap(*entry->second, buckets_[b]);
  count_ready();
}

void GradientExchange::count_ready() {
  std::size_t ready = ready_;
  while (ready < buckets_.size() && missing_[ready] == 0) ++ready;
  if (ready == ready_) return;
  ready_ = ready;
  begun_.notify_one();  // without the mutex, which add_up() may hold for a long time
}

void GradientExchange::end_round() {
  open();
  std::fill(missing_.begin(), missing_.end(), 0);
  count_ready();
}

void GradientExchange::finish() { wait_for_round(); }

void GradientExchange::forget_rounding() {
  if (!rounded_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  rounded_->of_gradient.forget();
  rounded_->of_sums.forget();
}

void GradientExchange::wait_for_round() {
  const auto start = std::chrono::steady_clock::now();
  for (int looks = 0;; ++looks) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!active_) break;
      if (drive()) looks = 0;
    }
    if (looks < looks_without_pause) std::this_thread::yield();
    else std::this_thread::sleep_for(pause);
  }
  seconds_waited_ += seconds_waited_since(start);
  if (error_) std::rethrow_exception(error_);
}

// Polls the transfers once, and starts everything that can start. Returns whether it made progress. The caller holds
// the mutex.
bool GradientExchange::drive() try {
  bool changed = false;
  for (const std::size_t ready = ready_; sent_ < ready && sent_ - added_ < slots; changed = true) send(sent_++);
  for (; !to_owners_.empty() && to_owners_.front()->done(); changed = true) {
    to_owners_.pop_front();
    add_up(added_);
    if (round_.last) give_back(added_);
    ++added_;
  }
  for (; !from_owners_.empty() && from_owners_.front()->done(); changed = true) {
    from_owners_.pop_front();
    take_back(returned_++);
  }
  active_ = added_ < buckets_.size() || (round_.last && returned_ < buckets_.size());
  return changed;
} catch (...) {
  error_ = std::current_exception();
  active_ = false;
  return true;
}

void GradientExchange::send(std::size_t b) {
  const GradientBucket& bucket = buckets_[b];
  const std::int64_t size = bucket.end - bucket.begin, slot = static_cast<std::int64_t>(b % slots);
  const bool sends = ranks_.rank() < round_.senders;
  Tensor own = part(set_.gradients(), bucket.begin, size);
  if (rounded_) {
    Tensor rounded = part(rounded_->gradients, slot * rounded_->bucket_size, size);
    if (sends) rounded_->of_gradient.round(own, bucket.begin, rounded);
    own = rounded;
  }
  Tensor received = part(received_, slot * slot_size_, slot_size_);
  to_owners_.push_back(ranks_.to_owners(own.mutable_raw(), bucket.bytes, round_.senders, received.mutable_raw()));
  const auto rank = static_cast<std::size_t>(ranks_.rank());
  if (!sends) return;
  for (std::size_t owner = 0; owner < bucket.bytes.size(); ++owner)
    if (owner != rank) bytes_sent_ += bucket.bytes[owner];
}

// sum = g_0 + g_1 + … in the first round; sum += g_0, sum += g_1, … in later rounds: each gradient is added, and
// rounded, separately.
void GradientExchange::add_up(std::size_t b) {
  const GradientBucket& bucket = buckets_[b];
  if (bucket.own == 0) return;
  Tensor result = part(set_.gradients(), bucket.own_begin, bucket.own);
  Tensor sum = sums_.defined() ? part(sums_, sum_places_[b], bucket.own) : result;
  for (int rank = 0; rank < round_.senders; ++rank) {
    const std::int64_t slot = static_cast<std::int64_t>(b % slots) * slot_size_;
    const Tensor gradient = part(received_, slot + rank * bucket.own, bucket.own);
    const bool begins = round_.first && rank == 0;
    if (rounded_) begins ? copy_rounded(gradient, sum) : add_rounded(gradient, sum);
    else begins ? raw::copy(gradient, sum) : raw::accumulate(sum, gradient);
  }
  if (round_.last && sums_.defined()) raw::copy(sum, result);
}

void GradientExchange::give_back(std::size_t b) {
  const GradientBucket& bucket = buckets_[b];
  Tensor all = part(rounded_ ? rounded_->sums : set_.gradients(), bucket.begin, bucket.end - bucket.begin);
  if (rounded_ && bucket.own > 0) {
    Tensor own = part(rounded_->sums, bucket.own_begin, bucket.own);
    rounded_->of_sums.round(part(set_.gradients(), bucket.own_begin, bucket.own), sum_places_[b], own);
  }
  from_owners_.push_back(ranks_.from_owners(all.mutable_raw(), bucket.bytes));
  const auto others = bucket.bytes.size() - 1;
  bytes_sent_ += bucket.bytes[static_cast<std::size_t>(ranks_.rank())] * others;
}

// Without rounding, the sums have arrived in the set's buffer.
void GradientExchange::take_back(std::size_t b) {
  if (!rounded_) return;
  const GradientBucket& bucket = buckets_[b];
  const std::int64_t size = bucket.end - bucket.begin;
  Tensor result = part(set_.gradients(), bucket.begin, size);
  copy_rounded(part(rounded_->sums, bucket.begin, size), result);
}

void GradientExchange::work() {
  Context context;  // backward uses the other threads
  context.set_threads(1);
  const ContextScope scope(context);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ends_ || active_; });
    if (ends_) return;
    const bool changed = drive();
    const bool under_way = !to_owners_.empty() || !from_owners_.empty();
    if (active_ && !changed) begun_.wait_for(lock, under_way ? pause : rest);
  }
}

}  // namespace weft::detail
