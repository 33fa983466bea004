// The records of a tape.
#pragma once
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "weft/tape.h"

namespace weft {

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
  std::unique_ptr<Op> op;            // null: a leaf
  Leaf leaf;
  std::shared_ptr<const void> parameter;
  std::vector<std::int64_t> inputs;  // their records, -1 for constants
  std::vector<Shape> input_shapes;
  std::vector<DType> input_dtypes;
  std::vector<Kept> kept;            // one for each input, then the output
  Shape shape;
  DType dtype = DType::f32;
  int recomputed_depth = 0;          // how many cheap records in a row must run again for its output
  int uses = 0;                      // records that keep this one instead of its output
  Tensor recomputed;
  Tensor gradient;
  std::vector<Tensor> unwritten;     // views of parts of the gradient that have no numbers yet and stand for zeros
  Tensor place;                      // what Backward::place gave out, within another record's gradient, …
  std::size_t place_input = 0;       // … and for which of its op's inputs
  int places_given = 0;              // of this record's gradient
};

// A gradient whose elements nobody else holds and that may be written in place: x itself or a copy.
Tensor owned(Tensor x);

struct Tape::Impl {
  std::uint64_t serial = 0;
  std::thread::id thread;
  bool consumed = false;
  std::vector<Record> records;
  std::unordered_map<const void*, std::int64_t> leaves;

  Kept keep(const Tensor& x);
  // The tensor that was kept. `consumer` is the record that asks.
  Tensor restore(const Kept& kept);
  const Tensor& recompute(std::int64_t index);
  void release(Record& record);
  void check_versions(const Record& record) const;
  // The record of which `part` gives a part, or null.
  Record* whole_of(const Record& part);
  // The place of a part in the whole's gradient, if it is one of the unwritten ones: from then on the caller's to write.
  Tensor take_place(const Record& part, Record& whole);
  // Writes the zeros that a gradient's unwritten parts stand for.
  static void settle(Record& record);
  void walk(std::int64_t last, GradientSink& sink);
  void clear() noexcept;
};

}  // namespace weft
