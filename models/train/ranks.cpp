#include "weft/ranks.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "base/hash.h"

namespace weft {
namespace {

constexpr char fine = '+', failed = '-';
constexpr std::size_t short_text = 200;  // longer values are sent as a hash and not shown
constexpr std::string_view hashed = "hash ";

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string rank_name(std::size_t rank) { return "rank " + std::to_string(rank); }

// Throws the Error of the first rank that failed. If it is rank 0, the message names no rank, because all ranks may
// have failed in the same way.
void check_all(const std::vector<std::string>& texts) {
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    if (texts[rank].empty() || texts[rank][0] == failed)
      throw RankError((rank == 0 ? "" : rank_name(rank) + ": ") + texts[rank].substr(texts[rank].empty() ? 0 : 1));
}

// Returns the names and values alternately, each followed by a zero byte.
std::string text_of(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    detail::BytesHash hash;
    hash.add(value);
    const bool short_one = value.size() <= short_text && value.find('\0') == std::string::npos;
    text += name + '\0' + (short_one ? value : std::string(hashed) + std::to_string(hash.value())) + '\0';
  }
  return text;
}

Facts facts_of(const std::string& text) {
  Facts facts;
  for (std::size_t name = 0, value, end; name < text.size(); name = end + 1) {
    value = std::min(text.find('\0', name), text.size() - 1) + 1;
    end = std::min(text.find('\0', value), text.size());
    facts.emplace_back(text.substr(name, value - name - 1), text.substr(value, end - value));
  }
  return facts;
}

const std::string* value_of(const Facts& facts, const std::string& name) {
  const auto found = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == name; });
  return found == facts.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<std::string> Ranks::gather(const std::string& text) {
  std::vector<std::string> texts = exchange(fine + text);
  check_all(texts);
  for (std::string& each : texts) each.erase(0, 1);
  return texts;
}

void Ranks::fail(const std::string& what) {
  check_all(exchange(failed + what));
  throw RankError(what);
}

void Ranks::fail(const std::exception_ptr& own) {
  std::string what;
  try {
    std::rethrow_exception(own);
  } catch (const std::bad_alloc&) {
    what = "out of memory";
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an exception of an unknown type";
  }
  try {
    fail(what);
  } catch (const RankError& of_all) {
    throw RankError(of_all.what(), own);
  }
}

// Facts that both ranks have are compared first, because they explain more. For example, if the optimizers differ, the
// message gives their names, not an option that only one of them has.
void check_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts) {
  std::vector<Facts> all;  // by rank
  for (const std::string& text : ranks.gather(text_of(facts))) all.push_back(facts_of(text));
  for (const bool on_both : {true, false})
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      Facts named = all[0];
      named.insert(named.end(), all[rank].begin(), all[rank].end());
      for (const auto& [name, any] : named) {
        const std::string *first = value_of(all[0], name), *other = value_of(all[rank], name);
        const bool both = first != nullptr && other != nullptr;
        if (both != on_both || (both && *first == *other)) continue;
        const bool shown =
            !(first != nullptr && first->starts_with(hashed)) && !(other != nullptr && other->starts_with(hashed));
        const auto value = [](const std::string* text) { return text == nullptr ? "none" : *text; };
        throw RankError("[ranks] " + rank_name(rank) + " and rank 0 differ in the " + name +
                        (shown ? ": " + value(other) + " and " + value(first) : ""));
      }
    }
}

}  // namespace weft
