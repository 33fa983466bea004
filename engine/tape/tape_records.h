// The records of a tape.
#pragma once
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tape/gradient.h"
#include "weft/tape.h"

namespace weft::detail {

// What backward keeps of a tensor: the tensor itself, or how it lies in the output of a cheap record.
struct Kept {
  Tensor tensor;
  std::uint64_t version = 0;
  bool absent = false;         // an input that was left out
  std::int64_t producer = -1;  // >= 0: `tensor` is undefined, the output is computed again
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

struct Record {
  std::unique_ptr<Op> op;        // null: a leaf
  const PartOp* part = nullptr;  // the op, if it is one
  Leaf leaf;
  std::shared_ptr<const void> parameter;
  std::vector<std::int64_t> inputs;  // their records, -1 for constants
  std::vector<Shape> input_shapes;
  std::vector<DType> input_dtypes;
  std::vector<Kept> kept;  // one for each input, then the output
  Shape shape;
  DType dtype = DType::f32;
  int recomputed_depth = 0;  // how many cheap records in a row must run again for its output
  int uses = 0;              // records that keep this one instead of its output
  Tensor recomputed;
  Gradient gradient;
};

class TapeRecords {
 public:
  std::uint64_t serial = 0;
  std::thread::id thread;
  bool consumed = false;
  const TapeRecords* outside = nullptr;  // of a function to recompute: its nodes are no constants
  std::vector<Record> records;
  std::unordered_map<const void*, std::int64_t> leaves;

  // Adds a record; gives its output with the node.
  Tensor add(std::unique_ptr<Op> op, const Inputs& in, Tensor out);
  // The tensor that was kept.
  Tensor restore(const Kept& kept);
  void check_versions(const Record& record) const;
  // Runs the records up to `last` in reverse; complete(i) takes the gradient of leaf i, which may be undefined.
  void walk(std::int64_t last, FunctionRef<void(std::int64_t leaf)> complete);
  void clear() noexcept;

  Record& at(std::int64_t index) { return records[static_cast<std::size_t>(index)]; }
  const Record& at(std::int64_t index) const { return records[static_cast<std::size_t>(index)]; }
  bool owns(const Tensor& x) const noexcept { return x.node().tape == serial && !consumed; }
  // Whether it has a node here. Error if it has one outside.
  bool takes(const Tensor& x) const;
  // The record that a part's output is a part of, or null.
  Record* whole_of(const Record& part) { return part.part && part.inputs[0] >= 0 ? &at(part.inputs[0]) : nullptr; }

 private:
  Kept keep(const Tensor& x);
  const Tensor& recompute(std::int64_t index);
  void release(Record& record);
};

}  // namespace weft::detail
