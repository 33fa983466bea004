// A table of named entries, to which host programs may add entries.
#pragma once
#include <deque>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {

// Each entry has a member `name`. The table is thread-safe. References to entries stay valid, because no entry is ever
// removed, and a deque doesn't move its elements when it grows at its end.
template <class Entry>
class Registry {
 public:
  Registry(std::initializer_list<Entry> known) : all_(known) {}

  // Adds the entry after calling check(added, known) for each known entry; check may throw.
  template <class Check>
  void add(Entry added, Check check) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& known : all_) check(std::as_const(added), known);
    all_.push_back(std::move(added));
  }

  template <class Use>
  void for_each(Use use) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& known : all_) use(known);
  }

  // Returns null if there is no such entry.
  const Entry* find(const std::string& name) const {
    const Entry* found = nullptr;
    for_each([&](const Entry& known) {
      if (known.name == name) found = &known;
    });
    return found;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for_each([&](const Entry& known) { names.push_back(known.name); });
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> all_;
};

}  // namespace weft::detail
