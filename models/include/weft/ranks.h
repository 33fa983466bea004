/// \file
/// Ranks: processes or threads that train one model together, each with its own copy of the model.
#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/error.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A transfer of bytes between ranks that is in progress.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Advances the transfer without waiting. Returns true when this rank has received all its data and may write to its
  /// send buffer again.
  virtual bool done() = 0;
};

/// An Error that occurs on all ranks, so no rank needs to report it to the others.
class RankError : public Error {
 public:
  /// `own` is the exception that this rank itself threw, if any.
  explicit RankError(const std::string& what, std::exception_ptr own = nullptr) : Error(what), own_(std::move(own)) {}
  /// The exception that this rank itself threw, of any type; null if only other ranks failed.
  const std::exception_ptr& own() const noexcept { return own_; }

 private:
  std::exception_ptr own_;
};

/// The ranks that train together, as seen by one of them. Derive from this class to add a transport. There are three
/// kinds of calls: exchange(), to_owners() and from_owners(). Within each kind, every rank makes the same calls in the
/// same order. Calls may come from any thread, but only one at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const noexcept = 0;  ///< the number of this rank, 0 … size() - 1
  virtual int size() const noexcept = 0;  ///< the number of ranks

  /// Waits for all ranks and returns the text of every rank, in the order of ranks. Texts are short and may contain any
  /// bytes.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Each of the first `senders` ranks sends piece o of `from` to rank o. The pieces are stored one after the other,
  /// and piece o has bytes[o] bytes. Rank o receives its pieces in `to`, in the order of the senders. Both buffers must
  /// stay valid until the Transfer is done().
  virtual std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                              void* to) = 0;
  /// The reverse of to_owners(): each rank sends its own piece of `data` to all other ranks, and receives their pieces.
  /// `data` has the layout of `from` in to_owners().
  virtual std::unique_ptr<Transfer> from_owners(void* data, const std::vector<std::size_t>& bytes) = 0;

  /// Ends all ranks immediately, whatever they wait for. Use it in cases in which fail() would not reach the other
  /// ranks. If ranks are processes, they print a line with the reason and exit. If ranks are threads, every current and
  /// later call and Transfer throws a RankError, and touches no memory afterwards.
  [[noreturn]] virtual void abort(const std::string& reason) = 0;

  /// Like exchange(), but throws a RankError if a rank calls fail() instead.
  std::vector<std::string> gather(const std::string& text);
  /// Call this instead of the next gather(). It throws a RankError on all ranks, with the message of the first rank
  /// that fails.
  [[noreturn]] void fail(const std::string& what);
  /// Does the same for an exception, which RankError::own() then returns.
  [[noreturn]] void fail(const std::exception_ptr& own);
};

/// Calls body() and returns its result. If body() throws on one rank, the next gather() on the other ranks throws, too.
/// `ranks` is null if there is only this process.
template <class Body>
decltype(auto) with_ranks(Ranks* ranks, Body&& body) {
  if (ranks == nullptr) return body();
  try {
    return body();
  } catch (const RankError&) {
    throw;
  } catch (...) {
    ranks->fail(std::current_exception());
  }
}

/// Compares the facts of all ranks. The order of the facts does not matter. If a rank has a different fact, throws a
/// RankError that names the rank and the fact. Each fact is a name and a value as text. Long values are compared by
/// their hashes, and messages don't show them. The function calls gather() once.
void check_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace weft
WEFT_PUBLIC_END
