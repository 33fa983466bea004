/// \file
/// Ranks: the processes, or threads, that train one model together, each with a copy of it.
#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/error.h"

#pragma GCC visibility push(default)
namespace weft {

/// Bytes on their way between ranks.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Drives it, without waiting. True: all is there that this rank gets, and what it gave may be written again.
  virtual bool done() = 0;
};

/// An Error that all ranks throw: none is left to be told.
class RankError : public Error {
 public:
  /// With what this rank threw itself, if it did.
  explicit RankError(const std::string& what, std::exception_ptr own = nullptr) : Error(what), own_(std::move(own)) {}
  /// What this rank threw itself, of whatever type; null if none but others did.
  const std::exception_ptr& own() const noexcept { return own_; }

 private:
  std::exception_ptr own_;
};

/// Those that train together, as one of them sees it; to be derived from. Every rank makes the same calls in the same
/// order: exchange() counts as one kind, to_owners() and from_owners() as another two. No two calls at once, but from any
/// thread.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const noexcept = 0;  ///< this one, 0 … size() - 1
  virtual int size() const noexcept = 0;  ///< how many there are

  /// Every rank's text, by rank: short ones, and any bytes. Waits for all.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Each of the first `senders` ranks gives rank o the o-th piece of `from`, bytes[o] long, where the pieces stand one
  /// after the other. Rank o finds what it gets in `to`, by rank. Both stay where they are until it is done().
  virtual std::unique_ptr<Transfer> to_owners(const void* from, const std::vector<std::size_t>& bytes, int senders,
                                              void* to) = 0;
  /// The other way: of `data`, in which the pieces stand as above, each rank has its own, and gets those of all others.
  virtual std::unique_ptr<Transfer> from_owners(void* data, const std::vector<std::size_t>& bytes) = 0;

  /// Ends all ranks at once, wherever they wait, when fail() would reach none: processes end, after a line with the reason;
  /// of threads, each call and Transfer that is under way, or follows, throws a RankError, and none touches memory any more.
  [[noreturn]] virtual void abort(const std::string& reason) = 0;

  /// exchange(), but a RankError if one of them calls fail() in its place.
  std::vector<std::string> gather(const std::string& text);
  /// In place of the next gather(): throws a RankError, on all ranks, with what the first of those that fail says.
  [[noreturn]] void fail(const std::string& what);
  /// The same of an exception, which becomes RankError::own().
  [[noreturn]] void fail(const std::exception_ptr& own);
};

/// Calls body(). What it throws on one rank comes out of the others' next gather(), too. Null: of this process alone.
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

/// RankError, naming rank and fact, unless all ranks have the same, in any order. Of each: what it is, and its value as text,
/// of which a long one is compared, and not shown, by a hash. One gather().
void check_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace weft
#pragma GCC visibility pop
