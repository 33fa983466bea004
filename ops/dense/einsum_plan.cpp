#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "dense/einsum.h"

namespace weft::detail {
namespace {

constexpr std::size_t exact_operands = 8;
constexpr double infinite = std::numeric_limits<double>::infinity();

using LabelSet = std::set<int>;

std::string label_name(int label) {
  return label < ellipsis_label ? "index " + std::string(1, static_cast<char>(label))
                                : "axis " + std::to_string(ellipsis_label - 1 - label) + " of \"...\"";
}

// Returns the size of every label. All axes with a label have the label's size or 1.
std::map<int, std::int64_t> label_sizes(const std::string& equation, const EinsumTerms& terms,
                                        const std::vector<Shape>& shapes) {
  std::map<int, std::int64_t> sizes;
  std::map<int, std::size_t> owner;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::map<int, std::int64_t> own;
    for (std::size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const int label = terms.operands[i][axis];
      const std::int64_t n = shapes[i][axis];
      const auto [it, is_new] = own.emplace(label, n);
      if (!is_new && it->second != n)
        fail_einsum(equation, label_name(label) + " has sizes " + std::to_string(it->second) + " and " +
                                  std::to_string(n) + " in operand " + std::to_string(i));
    }
    for (const auto& [label, n] : own) {
      const auto [it, is_new] = sizes.emplace(label, n);
      if (!is_new && it->second != n && it->second != 1 && n != 1)
        fail_einsum(equation, label_name(label) + " has size " + std::to_string(it->second) + " in operand " +
                                  std::to_string(owner[label]) + " but " + std::to_string(n) + " in operand " +
                                  std::to_string(i));
      if (is_new || it->second == 1) {
        it->second = n;
        owner[label] = i;
      }
    }
  }
  return sizes;
}

Labels without_repetitions(const Labels& labels) {
  Labels once;
  for (int label : labels)
    if (std::find(once.begin(), once.end(), label) == once.end()) once.push_back(label);
  return once;
}

// Finds the order of the products. A label along which an operand has size 1 does not count as a label of that operand.
class Order {
 public:
  Order(const std::map<int, std::int64_t>& sizes, const std::vector<LabelSet>& operands, const Labels& output)
      : sizes_(sizes), operands_(operands), output_(output.begin(), output.end()) {
    limit_ = product(output_);
    for (const LabelSet& labels : operands_) limit_ = std::max(limit_, product(labels));
  }

  // Returns the pairs of nodes to multiply. The results are numbered after the operands.
  std::vector<std::pair<std::size_t, std::size_t>> pairs() {
    if (operands_.size() > exact_operands) return greedy();
    if (!exact(limit_)) exact(infinite);
    std::vector<std::pair<std::size_t, std::size_t>> order;
    emit(best_.size() - 1, order);
    return order;
  }

 private:
  struct Best {
    double cost = infinite;
    std::size_t left = 0;  // bit set of the operands on the left of the last product
    LabelSet labels;
    double size = 1;
  };

  double product(const LabelSet& labels) const {
    double n = 1;
    for (int label : labels) n *= static_cast<double>(sizes_.at(label));
    return n;
  }

  // Returns the labels that the product of some operands keeps. `inside` contains the labels of these operands. The
  // product keeps the labels that the output or another operand needs.
  template <class Outside>
  LabelSet kept(const LabelSet& inside, Outside needs) const {
    LabelSet labels;
    for (int label : inside)
      if (output_.count(label) || needs(label)) labels.insert(label);
    return labels;
  }

  static LabelSet joined(LabelSet a, const LabelSet& b) {
    a.insert(b.begin(), b.end());
    return a;
  }

  // Dynamic programming over the subsets of the operands. The cheapest order for a subset multiplies the two parts of
  // its cheapest split.
  bool exact(double limit) {
    const std::size_t n = operands_.size(), all = (std::size_t{1} << n) - 1;
    best_.assign(all + 1, {});
    for (std::size_t subset = 1; subset <= all; ++subset) {
      Best& best = best_[subset];
      LabelSet inside;
      for (std::size_t i = 0; i < n; ++i)
        if (subset >> i & 1) inside = joined(inside, operands_[i]);
      best.labels = kept(inside, [&](int label) {
        for (std::size_t i = 0; i < n; ++i)
          if (!(subset >> i & 1) && operands_[i].count(label)) return true;
        return false;
      });
      best.size = product(best.labels);
      if ((subset & (subset - 1)) == 0) {
        best.cost = 0;
        continue;
      }
      if (subset != all && best.size > limit) continue;
      const std::size_t lowest = subset & (~subset + 1);
      for (std::size_t left = (subset - 1) & subset; left > 0; left = (left - 1) & subset) {
        if (!(left & lowest)) continue;  // so that each split is visited once
        const Best &l = best_[left], &r = best_[subset ^ left];
        const double cost = l.cost + r.cost + product(joined(l.labels, r.labels));
        if (cost < best.cost) {
          best.cost = cost;
          best.left = left;
        }
      }
    }
    return best_[all].cost < infinite;
  }

  std::size_t emit(std::size_t subset, std::vector<std::pair<std::size_t, std::size_t>>& order) const {
    if ((subset & (subset - 1)) == 0) {
      std::size_t i = 0;
      while (!(subset >> i & 1)) ++i;
      return i;
    }
    const std::size_t left = emit(best_[subset].left, order), right = emit(subset ^ best_[subset].left, order);
    order.emplace_back(left, right);
    return operands_.size() + order.size() - 1;
  }

  // Repeatedly selects a pair and multiplies it. Among the pairs whose product is within the limit, it selects the pair
  // that increases memory use least. If there are none, it selects the cheapest pair.
  std::vector<std::pair<std::size_t, std::size_t>> greedy() const {
    std::vector<std::pair<std::size_t, LabelSet>> nodes;
    for (std::size_t i = 0; i < operands_.size(); ++i) nodes.emplace_back(i, operands_[i]);
    std::vector<std::pair<std::size_t, std::size_t>> order;
    while (nodes.size() > 1) {
      std::size_t best_p = 0, best_q = 1;
      std::tuple<bool, double, double> best{true, infinite, infinite};
      LabelSet labels;
      for (std::size_t q = 1; q < nodes.size(); ++q)
        for (std::size_t p = 0; p < q; ++p) {
          const LabelSet both = joined(nodes[p].second, nodes[q].second);
          const LabelSet result = kept(both, [&](int label) {
            for (std::size_t i = 0; i < nodes.size(); ++i)
              if (i != p && i != q && nodes[i].second.count(label)) return true;
            return false;
          });
          const double size = product(result);
          const std::tuple<bool, double, double> rank{nodes.size() > 2 && size > limit_,
                                                      size - product(nodes[p].second) - product(nodes[q].second),
                                                      product(both)};
          if ((p == 0 && q == 1) || rank < best) {
            best = rank;
            best_p = p;
            best_q = q;
            labels = result;
          }
        }
      order.emplace_back(nodes[best_p].first, nodes[best_q].first);
      nodes[best_p] = {operands_.size() + order.size() - 1, labels};
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(best_q));
    }
    return order;
  }

  const std::map<int, std::int64_t>& sizes_;
  const std::vector<LabelSet>& operands_;
  LabelSet output_;
  double limit_ = 1;
  std::vector<Best> best_;
};

// Returns the labels of `left`, followed by those of `right`, that the output or another unused node needs. `own`
// contains each node's labels whose size is not 1.
Labels result_labels(const EinsumPlan& plan, const std::vector<LabelSet>& own, const std::vector<bool>& used,
                     std::size_t left, std::size_t right) {
  Labels labels;
  for (std::size_t node : {left, right})
    for (int label : plan.labels[node]) {
      if (!own[node].count(label) || std::count(labels.begin(), labels.end(), label)) continue;
      bool needed = std::count(plan.output.begin(), plan.output.end(), label) > 0;
      for (std::size_t i = 0; i < own.size() && !needed; ++i)
        needed = !used[i] && i != left && i != right && own[i].count(label) > 0;
      if (needed) labels.push_back(label);
    }
  return labels;
}

}  // namespace

EinsumPlan plan_einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  std::vector<std::size_t> ranks;
  for (const Shape& shape : shapes) ranks.push_back(shape.size());
  const EinsumTerms terms = parse_einsum(equation, ranks);
  const auto sizes = label_sizes(equation, terms, shapes);
  EinsumPlan plan{terms.operands, {}, {}, terms.output, {}};
  for (int label : plan.output) plan.shape.push_back(sizes.at(label));
  std::vector<LabelSet> own;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    plan.labels.push_back(without_repetitions(terms.operands[i]));
    own.emplace_back();
    for (std::size_t axis = 0; axis < shapes[i].size(); ++axis)
      if (shapes[i][axis] != 1) own.back().insert(terms.operands[i][axis]);
  }
  try {
    (void)numel(plan.shape);
  } catch (const Error&) {
    fail_einsum(equation, "the result, of shape " + to_string(plan.shape) + ", has too many elements");
  }
  if (shapes.size() == 1) return plan;
  const std::vector<LabelSet> operands = own;
  const auto pairs = Order(sizes, operands, plan.output).pairs();
  std::vector<bool> used(shapes.size() + pairs.size(), false);
  for (const auto& [left, right] : pairs) {
    const bool last = plan.steps.size() + 1 == pairs.size();
    const Labels labels = last ? plan.output : result_labels(plan, own, used, left, right);
    used[left] = used[right] = true;
    plan.steps.push_back({left, right, labels});
    plan.labels.push_back(labels);
    own.emplace_back(labels.begin(), labels.end());
  }
  return plan;
}

}  // namespace weft::detail
