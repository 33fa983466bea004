// Hashes words, their character n-grams, and word n-grams to buckets (Joulin et al. 2016, Bag of Tricks for Efficient
// Text Classification, arXiv 1607.01759; Bojanowski et al. 2016, arXiv 1607.04606, section 3.2). No word is unknown,
// and a model that averages embeddings also learns from parts of words.
#include <deque>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "text/kinds.h"
#include "text/utf8.h"
#include "text/word_list.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

const char* const ngrams_name = "ngrams";
constexpr std::int64_t first_bucket = 3, usual_buckets = 100000, most_buckets = std::int64_t{1} << 30;

struct Sizes {
  std::int64_t buckets = usual_buckets, min_characters = 2, max_characters = 4, max_words = 1;
};

void check_sizes(const Sizes& sizes) {
  const auto [buckets, shortest, longest, words] = sizes;
  if (buckets < 1 || buckets > most_buckets || shortest < 1 || longest < 0 || longest > 32 || words < 1 || words > 8 ||
      (longest > 0 && longest < shortest))
    throw Error("[ngrams] expected 1 to " + std::to_string(most_buckets) +
                " buckets, n-grams of 1 to 32 characters, the shortest first, and of 1 to 8 words, got " +
                std::to_string(buckets) + ", " + std::to_string(shortest) + " to " + std::to_string(longest) +
                ", and " + std::to_string(words));
}

// The kind of text that a hash stands for. It is part of the hash, so that a word and an n-gram with the same
// characters get different buckets.
enum NgramKind : std::uint64_t { whole_word = 1, of_characters = 2, of_words = 3 };

class Ngrams : public Tokenizer {
 public:
  explicit Ngrams(const Sizes& sizes) : sizes_(sizes) { check_sizes(sizes); }

  const char* kind() const noexcept override { return ngrams_name; }
  std::int64_t size() const noexcept override { return first_bucket + sizes_.buckets; }
  SpecialIds special() const noexcept override { return {1, 0, 2, {}, {}}; }

  // For each word, the ids stand for the word, its character n-grams from left to right, and the word n-grams that end
  // with it.
  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    for_each_code_point(text, place, [](char32_t, std::size_t) {});  // checks the text
    std::vector<std::int64_t> ids;
    std::deque<std::uint64_t> before;  // hashes of the previous words, the latest first
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
      if (is_letter(byte)) {
        word += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
      } else if (!word.empty()) {
        add_word(word, before, ids);
        word.clear();
      }
    }
    return ids;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    if (id < 0 || id >= size())
      throw Error("[tokenizer] expected a symbol below " + std::to_string(size()) + ", got " + std::to_string(id));
    if (id < first_bucket) return id == 0 ? "[pad]" : id == 1 ? "[unk]" : "[cls]";
    return "[" + std::to_string(id - first_bucket) + "]";
  }
  std::string separator(std::int64_t, std::int64_t) const override { return " "; }

  std::string to_json() const override {
    return nlohmann::ordered_json{{"unit", ngrams_name},
                                  {"buckets", sizes_.buckets},
                                  {"min_characters", sizes_.min_characters},
                                  {"max_characters", sizes_.max_characters},
                                  {"max_words", sizes_.max_words}}
        .dump();
  }

 private:
  std::int64_t bucket(std::uint64_t hash) const {
    return first_bucket + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(sizes_.buckets));
  }

  static std::uint64_t hash_of(NgramKind kind, std::string_view text) {
    std::uint64_t h = hash(hash_start, std::vector<std::uint64_t>{kind});
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * hash_prime;
    return h ^ h >> 32;  // the high bits of FNV depend on all bytes
  }

  void add_word(const std::string& word, std::deque<std::uint64_t>& before, std::vector<std::int64_t>& ids) const {
    const std::uint64_t own = hash_of(whole_word, word);
    ids.push_back(bucket(own));
    add_characters("<" + word + ">", ids);
    std::uint64_t phrase = own;
    for (const std::uint64_t earlier : before)
      ids.push_back(bucket(phrase = (phrase ^ earlier * hash_prime) * hash_prime + of_words));
    before.push_front(own);
    if (std::ssize(before) >= sizes_.max_words) before.pop_back();
  }

  void add_characters(const std::string& word, std::vector<std::int64_t>& ids) const {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < word.size(); ++i)
      if ((static_cast<unsigned char>(word[i]) & 0xC0) != 0x80) starts.push_back(i);
    starts.push_back(word.size());
    const std::int64_t count = std::ssize(starts) - 1;
    for (std::int64_t first = 0; first < count; ++first)
      for (std::int64_t n = sizes_.min_characters; n <= sizes_.max_characters && first + n <= count; ++n) {
        const std::size_t begin = starts[static_cast<std::size_t>(first)],
                          end = starts[static_cast<std::size_t>(first + n)];
        ids.push_back(bucket(hash_of(of_characters, std::string_view(word).substr(begin, end - begin))));
      }
  }

  Sizes sizes_;
};

std::shared_ptr<const Tokenizer> learn_ngrams(const Texts& texts, const TokenizerOptions& options) {
  if (options.task && task_kind(*options.task).outputs != OutputShape::per_row)
    throw Error(std::string("[ngrams] the task ") + task_name(*options.task) +
                " needs one symbol for each part of the text; n-grams are for tasks with one output for each text");
  texts([](std::string_view text) { for_each_code_point(text, TextPlace{}, [](char32_t, std::size_t) {}); });
  const std::int64_t buckets = options.size > 0 ? options.size - first_bucket : usual_buckets;
  return std::make_shared<Ngrams>(Sizes{buckets, options.min_characters, options.max_characters, options.max_words});
}

std::shared_ptr<const Tokenizer> ngrams_from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  const auto number = [&](const char* key) { return json.at(key).get<std::int64_t>(); };
  return std::make_shared<Ngrams>(
      Sizes{number("buckets"), number("min_characters"), number("max_characters"), number("max_words")});
}

}  // namespace

TokenizerKind ngrams_kind() {
  return {ngrams_name, "words and parts of words, hashed to a fixed number of buckets; for models without layers",
          learn_ngrams, ngrams_from_json, usual_buckets + first_bucket};
}

}  // namespace weft::detail
