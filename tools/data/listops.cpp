// The task ListOps (Nangia and Bowman 2018, arXiv 1804.06028), according to the rules of the Long Range Arena (Tay et
// al. 2020, arXiv 2011.04006; lra_benchmarks/data/listops.py).
#include <weft/error.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "console/command.h"
#include "console/options.h"
#include "data/task.h"

namespace data {
namespace {

using weft::Error;

enum Operator { min, max, med, sm };
const std::array<std::string_view, 4> operators = {"[MIN", "[MAX", "[MED", "[SM"};

// The arguments of an operator, stored as the number of times that each digit occurs.
struct Arguments {
  std::array<std::int64_t, 10> times{};
  std::int64_t count = 0, sum = 0;

  void add(int digit) {
    ++times[static_cast<std::size_t>(digit)];
    ++count;
    sum += digit;
  }
  // Returns the i-th argument in ascending order.
  int sorted(std::int64_t i) const {
    int digit = 0;
    for (std::int64_t below = times[0]; below <= i; below += times[static_cast<std::size_t>(digit)]) ++digit;
    return digit;
  }
};

// MED is the median. For an even number of arguments it is the mean of the middle two, truncated to an integer. SM is
// the sum modulo 10.
int value_of(Operator op, const Arguments& arguments) {
  const std::int64_t n = arguments.count;
  if (op == min) return arguments.sorted(0);
  if (op == max) return arguments.sorted(n - 1);
  if (op == med) return (arguments.sorted((n - 1) / 2) + arguments.sorted(n / 2)) / 2;
  return static_cast<int>(arguments.sum % 10);
}

struct Rules {
  std::int64_t depth = 10, arguments = 10, min_length = 500, max_length = 2000;
};

// A random tree, made from the root downward. Each node below the root is a digit with probability 3/4, and always at
// the maximum depth. Otherwise it is an operator. All four operators are equally likely, and so are all numbers of
// arguments from 2 to `arguments`.
class Tree {
 public:
  Tree(const Rules& rules, const weft::Random& random, std::string& text)
      : rules_(rules), random_(random), text_(text) {}

  // Makes the tree and returns its value. Stops and returns no value if the tree becomes too long. The length counts
  // operators, digits and closing brackets.
  std::optional<int> make() { return operation(1); }
  std::int64_t length() const { return length_; }

 private:
  // Each node uses one random number. The upper two bits decide between operator and digit, and the lower half chooses
  // the digit.
  std::optional<int> node(std::int64_t depth) {
    const std::uint64_t bits = random_.bits(drawn_++);
    if (depth < rules_.depth && bits >> 62 == 0) return operation(depth);
    const auto digit = static_cast<int>((bits & lower_half) * 10 >> 32);
    text_ += ' ';
    text_ += static_cast<char>('0' + digit);
    if (++length_ >= rules_.max_length) return std::nullopt;
    return digit;
  }

  std::optional<int> operation(std::int64_t depth) {
    const std::uint64_t bits = random_.bits(drawn_++);
    const auto op = static_cast<Operator>(bits >> 62);
    const auto choices = static_cast<std::uint64_t>(rules_.arguments - 1);
    const auto count = 2 + static_cast<std::int64_t>((bits & lower_half) * choices >> 32);
    if (!text_.empty()) text_ += ' ';
    text_ += operators[op];
    length_ += 2;
    if (length_ + count > rules_.max_length) return std::nullopt;
    Arguments arguments;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::optional<int> value = node(depth + 1);
      if (!value) return std::nullopt;
      arguments.add(*value);
    }
    text_ += " ]";
    return value_of(op, arguments);
  }

  static constexpr std::uint64_t lower_half = 0xFFFFFFFF;
  const Rules& rules_;
  const weft::Random& random_;
  std::string& text_;
  std::uint64_t drawn_ = 0;
  std::int64_t length_ = 0;
};

// Computes the value of an expression. Round brackets are allowed and ignored.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  int value() {
    const int result = expression(next(), 0);
    if (const std::string_view more = next(); !more.empty()) fail("the end", more);
    return result;
  }

 private:
  // Returns the next symbol, or "" at the end.
  std::string_view next() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(' ', at_), text_.size());
      const std::size_t end = std::min(text_.find(' ', at_), text_.size());
      const std::string_view symbol = text_.substr(at_, end - at_);
      at_ = end;
      if (symbol != "(" && symbol != ")") return symbol;
    }
  }

  int expression(std::string_view symbol, int depth) {
    if (symbol.size() == 1 && symbol[0] >= '0' && symbol[0] <= '9') return symbol[0] - '0';
    const auto* const op = std::find(operators.begin(), operators.end(), symbol);
    if (op == operators.end()) fail("a digit or an operator", symbol);
    if (depth > deepest) throw Error("[listops] more than " + std::to_string(deepest) + " nested operators");
    Arguments arguments;
    for (std::string_view argument = next(); argument != "]"; argument = next())
      arguments.add(expression(argument, depth + 1));
    if (arguments.count == 0) fail("an argument of " + std::string(symbol), "]");
    return value_of(static_cast<Operator>(op - operators.begin()), arguments);
  }

  [[noreturn]] void fail(const std::string& expected, std::string_view got) const {
    throw Error("[listops] expected " + expected + ", got " +
                (got.empty() ? "the end" : "\"" + std::string(got.substr(0, 20)) + "\""));
  }

  static constexpr int deepest = 1000;
  std::string_view text_;
  std::size_t at_ = 0;
};

class Listops : public GeneratedTask {
 public:
  void add_to(CLI::App& command) override {
    add_number(command, "--min-length", rules_.min_length, {0},
               "Each row has more than this number of symbols (operators, digits and closing brackets)");
    add_number(command, "--max-length", rules_.max_length, {4, 1 << 20},
               "Each row has fewer than this number of symbols");
    add_number(command, "--depth", rules_.depth, {2, 100}, "Maximum number of nodes from the root to a leaf");
    add_number(command, "--arguments", rules_.arguments, {2, 1000}, "Maximum number of arguments of an operator");
  }
  void check() const override {
    if (rules_.max_length - rules_.min_length < 2)
      throw UsageError("--min-length " + std::to_string(rules_.min_length) + " and --max-length " +
                       std::to_string(rules_.max_length) + " leave no possible length between them");
  }
  std::string description() const override { return "ListOps, ten labels"; }
  bool make(const weft::Random& random, Row& row) const override {
    row.text.clear();
    Tree tree(rules_, random, row.text);
    const std::optional<int> value = tree.make();
    if (!value || tree.length() <= rules_.min_length || tree.length() >= rules_.max_length) return false;
    row.label = std::to_string(*value);
    return true;
  }
  std::string answer(const std::string& text) const override { return std::to_string(Reader(text).value()); }

 private:
  Rules rules_;
};

}  // namespace

TaskKind listops_kind() {
  return {
      "listops", "ListOps: find the value of nested operations on digits",
      "ListOps by the rules of the Long Range Arena. Each text is an expression of digits and the operators MIN, MAX, "
      "MED (the median, truncated) and SM (the sum modulo 10), and its label is the value. The files have the columns "
      "of the arena's own files, but no round brackets. The arena's Transformer (arXiv 2011.04006) reaches 36.37 % "
      "accuracy, and guessing reaches about 10 to 17 %.",
      []() -> std::unique_ptr<GeneratedTask> { return std::make_unique<Listops>(); }};
}

}  // namespace data
