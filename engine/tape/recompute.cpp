// Activation recomputation. The tape keeps one record for the whole function. Backward replaces this record with the
// records of a second run. The leaves of the second run take over the gradients that the tape has so far. When these
// gradients are complete, they move back to the tape. Contributions are therefore added in the same order as without
// recomputation.
#include "weft/recompute.h"

#include <algorithm>

#include "tape/tape_records.h"
#include "weft/detail/op_timer.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"

namespace weft::detail {

// y = fn(in). The record's inputs are the inputs of fn, followed by the parameters that fn read.
class RecomputeOp : public Op {
 public:
  static Tensor apply(Recomputed fn, const Inputs& in);

  RecomputeOp(Recomputed fn, std::size_t inputs, Shape shape)
      : fn_(std::move(fn)), inputs_(inputs), shape_(std::move(shape)) {}

  const char* name() const noexcept override { return "recompute"; }
  Shape shape(const Inputs&) const override { return shape_; }
  Tensor forward(const Inputs& in, const Shape&) override {
    const Tape tape;  // layers may compute differently without a tape
    return fn_(first_of(in)).detach();
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override;

 private:
  // Pairs of a leaf on the inner tape and its record on the outer tape.
  using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;

  Inputs first_of(const Inputs& in) const { return {in.begin(), in.begin() + static_cast<std::ptrdiff_t>(inputs_)}; }
  static Inputs leaves(Tape& tape, const TapeRecords& outside, const Inputs& in,
                       const std::vector<std::int64_t>& nodes);
  static Places places(const TapeRecords& inside, const TapeRecords& outside, const Inputs& leaves,
                       const std::vector<std::int64_t>& nodes);

  Recomputed fn_;
  std::size_t inputs_;
  Shape shape_;
};

// Returns the inputs as leaves of `tape`. Inputs with the same outer record share one leaf. If the outer record is a
// parameter's leaf, the new leaf belongs to the same parameter. Inputs without an outer record become constants.
Inputs RecomputeOp::leaves(Tape& tape, const TapeRecords& outside, const Inputs& in,
                           const std::vector<std::int64_t>& nodes) {
  Inputs all;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto same = std::find(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(i), nodes[i]);
    const auto first = static_cast<std::size_t>(same - nodes.begin());
    if (nodes[i] < 0) all.push_back(in[i].defined() ? in[i].detach() : in[i]);
    else if (first < i) all.push_back(all[first]);
    else all.push_back(tape.leaf(in[i].detach(), outside.at(nodes[i]).parameter));
  }
  return all;
}

Tensor RecomputeOp::apply(Recomputed fn, const Inputs& in) {
  if (!fn) throw Error("[recompute] expected a function, got none");
  Tape* tape = Tape::recording();
  if (!tape) return fn(in);
  const TapeRecords& outside = *tape->impl_;
  std::vector<std::int64_t> nodes;
  for (const Tensor& x : in) nodes.push_back(outside.takes(x) ? x.node().index : -1);
  Inputs all = in;
  Tensor y;
  std::vector<std::pair<Tensor, std::shared_ptr<const void>>> parameters;
  {
    Tape scratch;
    const TapeRecords& inside = *scratch.impl_;
    scratch.impl_->outside = &outside;
    y = fn(leaves(scratch, outside, in, nodes));
    if (!inside.owns(y)) return y;
    for (const Record& record : inside.records)
      if (record.parameter) parameters.emplace_back(record.leaf.value.detach(), record.parameter);
  }
  for (const auto& [value, parameter] : parameters) all.push_back(tape->leaf(value, parameter));
  auto op = std::make_unique<RecomputeOp>(std::move(fn), in.size(), y.shape());
  return detail::record(std::move(op), all, y.detach());
}

// Returns the pairs for all leaves. Throws an Error unless the second run reads the same parameters as the first run.
RecomputeOp::Places RecomputeOp::places(const TapeRecords& inside, const TapeRecords& outside, const Inputs& leaves,
                                        const std::vector<std::int64_t>& nodes) {
  Places all;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::pair<std::int64_t, std::int64_t> place{leaves[i].node().index, nodes[i]};
    if (nodes[i] >= 0 && std::find(all.begin(), all.end(), place) == all.end()) all.push_back(place);
  }
  for (std::size_t k = leaves.size(); k < nodes.size(); ++k) {
    const auto leaf = inside.leaves.find(outside.at(nodes[k]).parameter.get());
    if (leaf == inside.leaves.end())
      throw Error("[recompute] the function's second run doesn't read a parameter that its first run read");
    const std::pair<std::int64_t, std::int64_t> place{leaf->second, nodes[k]};
    if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(place);
  }
  for (const auto& [parameter, leaf] : inside.leaves)
    if (std::none_of(all.begin(), all.end(), [at = leaf](const auto& place) { return place.first == at; }))
      throw Error("[recompute] the function's second run reads a parameter that its first run didn't read");
  return all;
}

void RecomputeOp::backward(Backward& b) const {
  TapeRecords& outside = b.tape_;
  Record& record = outside.at(b.index_);
  Inputs in;
  for (std::size_t i = 0; i < inputs_; ++i) in.push_back(outside.restore(record.kept[i]));
  Tape tape;
  TapeRecords& inside = *tape.impl_;
  in = leaves(tape, outside, in, record.inputs);
  std::int64_t last = -1;
  {
    const OpTimer timer(name(), &OpTime::recomputed);
    const Tensor y = fn_(in);
    if (!inside.owns(y) || y.shape() != record.shape || y.dtype() != record.dtype)
      throw Error("[recompute] the function returned " + tensor_text(record.dtype, record.shape) +
                  " in its first run, and something else in its second run");
    last = y.node().index;
  }
  const Places all = places(inside, outside, in, record.inputs);
  inside.consumed = true;
  for (const auto& [leaf, node] : all)
    if (leaf <= last) inside.at(leaf).gradient = std::move(outside.at(node).gradient);
  inside.at(last).gradient.add(b.take_gradient());
  inside.walk(last, [&](std::int64_t i) {
    for (const auto& [leaf, node] : all)
      if (leaf == i) outside.at(node).gradient = std::move(inside.at(i).gradient);
  });
}

}  // namespace weft::detail

namespace weft {

Tensor recompute(Recomputed fn, const Inputs& in) {
  return detail::guard_memory("recompute", [&] { return detail::RecomputeOp::apply(std::move(fn), in); });
}

}  // namespace weft
