// The records of a tape.
#pragma once
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tape/gradient.h"
#include "weft/tape.h"

namespace weft::detail {

// A tensor that is saved for backward. The struct holds the tensor itself, or only its layout if a cheap record
// recomputes its elements.
struct Kept {
  Tensor tensor;
  std::uint64_t version = 0;
  bool absent = false;         // an omitted input
  std::int64_t producer = -1;  // >= 0: `tensor` is undefined, and the record `producer` recomputes it
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

struct Record {
  std::unique_ptr<Op> op;        // null: a leaf
  const PartOp* part = nullptr;  // the op, if it is a PartOp
  Leaf leaf;
  std::shared_ptr<const void> parameter;
  std::vector<std::int64_t> inputs;  // records of the inputs, -1 for constants
  std::vector<Shape> input_shapes;
  std::vector<DType> input_dtypes;
  std::vector<Kept> kept;  // one for each input, then the output
  Shape shape;
  DType dtype = DType::f32;
  int recomputed_depth = 0;  // length of the chain of cheap records that must run again for the output
  int uses = 0;              // number of saved tensors that this record recomputes
  Tensor recomputed;
  Gradient gradient;
};

class TapeRecords {
 public:
  std::uint64_t serial = 0;
  std::thread::id thread;
  bool consumed = false;
  const TapeRecords* outside = nullptr;  // the tape around a recomputed function, or null
  std::vector<Record> records;
  std::unordered_map<const void*, std::int64_t> leaves;

  // Adds a record. Returns its output, which now has a node on this tape.
  Tensor add(std::unique_ptr<Op> op, const Inputs& in, Tensor out);
  // Returns the saved tensor.
  Tensor restore(const Kept& kept);
  void check_versions(const Record& record) const;
  // Walks the records up to `last` in reverse. complete(i) takes the gradient of leaf i, which may be undefined.
  void walk(std::int64_t last, FunctionRef<void(std::int64_t leaf)> complete);
  void clear() noexcept;

  Record& at(std::int64_t index) { return records[static_cast<std::size_t>(index)]; }
  const Record& at(std::int64_t index) const { return records[static_cast<std::size_t>(index)]; }
  bool owns(const Tensor& x) const noexcept { return x.node().tape == serial && !consumed; }
  // Whether x has a node on this tape. Throws an Error if x has a node on the outer tape.
  bool takes(const Tensor& x) const;
  // Returns the record of the tensor that contains this part, or null.
  Record* whole_of(const Record& part) { return part.part && part.inputs[0] >= 0 ? &at(part.inputs[0]) : nullptr; }

 private:
  Kept keep(const Tensor& x);
  const Tensor& recompute(std::int64_t index);
  void release(Record& record);
};

}  // namespace weft::detail
