#include "mpi_ranks.h"

#include <mpi.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

// Polls instead of blocking, because other ranks may still be in the middle of a step or may be writing files. Polls
// often enough to lose no time, and rarely enough not to slow the other ranks.
void wait_for(MPI_Request& request) {
  const auto start = Clock::now();
  for (int looks = 0;; ++looks) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (looks < 2000) std::this_thread::yield();
    else
      std::this_thread::sleep_for(
          std::chrono::microseconds(Clock::now() - start < std::chrono::seconds(1) ? 100 : 1000));
  }
}

class MpiTransfer : public weft::Transfer {
 public:
  bool done() override {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  // Sizes and offsets in bytes. MPI reads them until the transfer is done.
  std::vector<int> sent, sent_at, got, got_at;
};

// Returns the offset of each piece if the pieces are stored one after the other.
std::vector<int> places(const std::vector<int>& bytes) {
  std::vector<int> places;
  int at = 0;
  for (const int each : bytes) {
    places.push_back(at);
    at += each;
  }
  return places;
}

class MpiRanks : public weft::Ranks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    for (MPI_Comm& each : {std::ref(texts_), std::ref(to_), std::ref(from_)}) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  }
  ~MpiRanks() override {
    meet_in_the_end();
    MPI_Finalize();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  // Prints even on a rank that prints nothing else.
  [[noreturn]] void abort(const std::string& reason) override {
    std::fprintf(stderr, "weft: rank %d: %s\n", rank_, reason.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

  // The first exchange uses slots of one size, which most texts fit into. If a text is longer than a slot, a second
  // exchange follows.
  std::vector<std::string> exchange(const std::string& text) override {
    struct Slot {
      std::uint64_t size;
      char text[248];
    };
    Slot own{text.size(), {}};
    std::memcpy(own.text, text.data(), std::min(text.size(), sizeof own.text));
    std::vector<Slot> all(static_cast<std::size_t>(size_));
    MPI_Request request;
    MPI_Iallgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, texts_, &request);
    wait_for(request);
    std::vector<int> bytes;
    std::uint64_t sum = 0;
    bool fit = true;
    for (const Slot& slot : all) {
      fit = fit && slot.size <= sizeof slot.text;
      sum += slot.size;
      if (sum > INT_MAX) throw weft::Error("[mpi] expected texts of at most 2 GiB in total");
      bytes.push_back(static_cast<int>(slot.size));
    }
    std::vector<std::string> texts;
    if (fit) {
      for (const Slot& slot : all) texts.emplace_back(slot.text, slot.size);
      return texts;
    }
    std::string joined(sum, '\0');
    const std::vector<int> at = places(bytes);
    MPI_Iallgatherv(text.data(), static_cast<int>(text.size()), MPI_BYTE, joined.data(), bytes.data(), at.data(),
                    MPI_BYTE, texts_, &request);
    wait_for(request);
    for (std::size_t r = 0; r < all.size(); ++r)
      texts.push_back(joined.substr(static_cast<std::size_t>(at[r]), static_cast<std::size_t>(bytes[r])));
    return texts;
  }

  std::unique_ptr<weft::Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                            void* to) override {
    auto transfer = std::make_unique<MpiTransfer>();
    const int own = static_cast<int>(bytes[static_cast<std::size_t>(rank_)]);
    for (int r = 0; r < size_; ++r) {
      transfer->sent.push_back(rank_ < senders ? static_cast<int>(bytes[static_cast<std::size_t>(r)]) : 0);
      transfer->got.push_back(r < senders ? own : 0);
    }
    transfer->sent_at = places(transfer->sent);
    transfer->got_at = places(transfer->got);
    MPI_Ialltoallv(from, transfer->sent.data(), transfer->sent_at.data(), MPI_BYTE, to, transfer->got.data(),
                   transfer->got_at.data(), MPI_BYTE, to_, &transfer->request);
    return transfer;
  }

  std::unique_ptr<weft::Transfer> from_owners(void* data, const std::vector<std::size_t>& bytes) override {
    auto transfer = std::make_unique<MpiTransfer>();
    transfer->got.assign(bytes.begin(), bytes.end());
    transfer->got_at = places(transfer->got);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, transfer->got.data(), transfer->got_at.data(), MPI_BYTE, from_,
                    &transfer->request);
    return transfer;
  }

 private:
  // Waits for all ranks, but not forever. MPI_Finalize would wait forever for a rank that waits in another call.
  void meet_in_the_end() {
    const auto latest =
        // each rank has a different time limit, so that only one reports the error
        Clock::now() + std::chrono::seconds(10) + rank_ * std::chrono::milliseconds(200);
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      if (Clock::now() > latest) abort("this rank ended, but other ranks still wait for it or don't respond");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  int rank_ = 0, size_ = 1;
  // Each kind of call has its own communicator, because only calls of one kind have the same order on all ranks.
  MPI_Comm texts_ = MPI_COMM_NULL, to_ = MPI_COMM_NULL, from_ = MPI_COMM_NULL;
};

int ranks_on_this_machine() {
  MPI_Comm here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int count = 1;
  MPI_Comm_size(here, &count);
  MPI_Comm_free(&here);
  return count;
}

}  // namespace

// An error inside MPI ends all ranks with MPI's own message. Only one thread at a time calls MPI, but it is not always
// the same thread.
extern "C" [[gnu::visibility("default")]] MpiStart weft_start_mpi() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return {nullptr, 1, "this MPI library does not allow calls from more than one thread (MPI_THREAD_SERIALIZED)"};
  }
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) {
    MPI_Finalize();
    return {nullptr, 1, nullptr};
  }
  const int here = ranks_on_this_machine();
  return {new MpiRanks, here, nullptr};
}
