#include "weft/row_data.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "data/shuffled.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// Returns the row's length in tokens, frames or patches.
std::int64_t length_of(const Row& row, const InputSpec& input) {
  if (input.is_picture()) return input.patches();
  return row.frames.defined() ? row.frames.size(0) : row.tokens.size(0);
}

// Stacks rows of shape (n, …), n <= longest, into one tensor (b, longest, …). Rows are padded with `filler`.
Tensor stacked(const std::vector<Tensor>& rows, std::int64_t longest, double filler) {
  std::vector<Tensor> padded;
  for (const Tensor& row : rows) {
    Shape shape = row.shape();
    Tensor whole = row;
    if (!shape.empty() && longest > shape[0]) {
      shape[0] = longest - shape[0];
      whole = concat({row, Tensor::full(shape, filler, row.dtype())}, 0);
    }
    Shape with_batch = whole.shape();
    with_batch.insert(with_batch.begin(), 1);
    padded.push_back(reshape(whole, with_batch));
  }
  return concat(padded, 0);
}

template <class Member>
std::vector<Tensor> members(const std::vector<Row>& rows, Member member) {
  std::vector<Tensor> all;
  for (const Row& row : rows) all.push_back(row.*member);
  return all;
}

std::string described(const Tensor& x) {
  return x.defined() ? dtype_name(x.dtype()) + (" " + to_string(x.shape())) : "none";
}

// Returns the shape of the target of a row with n tokens. In the objective's shape, -1 stands for n.
Shape target_shape(const Objective& objective, std::int64_t n) {
  Shape shape = objective.target_shape();
  for (std::int64_t& size : shape)
    if (size == -1) size = n;
  return shape;
}

// Throws an Error that begins with `where` unless the row matches the options.
void check_row(const std::string& where, const Row& row, const RowDataOptions& options) {
  const InputSpec& input = options.input;
  const bool reads_tokens = options.tokenizer->size() > 0;
  const bool tokens_fit = reads_tokens
                              ? row.tokens.defined() && row.tokens.dtype() == DType::i64 && row.tokens.rank() == 1
                              : !row.tokens.defined();
  const Shape picture{input.height, input.width, input.channels};
  const bool frames_fit =
      !input.defined() ? !row.frames.defined()
                       : row.frames.defined() && row.frames.dtype() == DType::f32 &&
                             (input.is_picture() ? row.frames.shape() == picture
                                                 : row.frames.rank() == 2 && row.frames.size(1) == input.channels);
  if (!tokens_fit || !frames_fit)
    throw Error(where + ": expected " + (reads_tokens ? "tokens i64 (n)" : "no tokens") + " and " +
                (!input.defined()     ? "no frames"
                 : input.is_picture() ? "a picture f32 " + to_string(picture)
                                      : "frames f32 (n, " + std::to_string(input.channels) + ")") +
                ", got " + described(row.tokens) + " and " + described(row.frames));
  const std::int64_t n = length_of(row, input);
  if (n < 1 || n > options.length)
    throw Error(where + ": expected a length of 1 to " + std::to_string(options.length) + ", got " + std::to_string(n));
  if (reads_tokens && input.defined() && row.tokens.size(0) != n)
    throw Error(where + ": expected a token for each of " + std::to_string(n) + " frames, got " +
                std::to_string(row.tokens.size(0)));
  const Objective& objective = *options.objective;
  const Shape expected = target_shape(objective, n);
  if (!row.target.defined() || row.target.dtype() != objective.target_dtype() || row.target.shape() != expected)
    throw Error(where + ": expected a target " + dtype_name(objective.target_dtype()) + " " + to_string(expected) +
                ", got " + described(row.target));
  if (objective.classes() > 0)
    for (const std::int64_t t : row.target.to_vector<std::int64_t>())
      if (t >= objective.classes() || (t < 0 && !(t == ignored_target && !expected.empty())))
        throw Error(where + ": expected a class from 0 to " + std::to_string(objective.classes() - 1) + ", got " +
                    std::to_string(t));
  for (const Tensor* numbers : {&row.frames, &row.target})
    if (numbers->defined() && numbers->dtype() == DType::f32)
      for (const float x : numbers->to_vector<float>())
        if (!std::isfinite(x)) throw Error(where + ": a number is not finite");
}

// Returns the number of targets that are not ignored.
std::int64_t predicted_in(const Tensor& target) {
  if (target.dtype() != DType::i64) return target.size(0);
  const auto all = target.to_vector<std::int64_t>();
  return std::count_if(all.begin(), all.end(), [](std::int64_t t) { return t != ignored_target; });
}

}  // namespace

RowSet chosen_rows(RowSet set, std::vector<std::int64_t> numbers) {
  for (const std::int64_t k : numbers)
    if (k < 0 || k >= set.size)
      throw Error("[rows] expected row numbers from 0 to " + std::to_string(set.size - 1) + ", got " +
                  std::to_string(k));
  const std::int64_t size = std::ssize(numbers);
  return {size, [row = std::move(set.row), numbers = std::move(numbers)](std::int64_t k) {
            return row(numbers[static_cast<std::size_t>(k)]);
          }};
}

RowData::RowData(RowSet training, RowSet validation, RowDataOptions options)
    : training_(std::move(training)), validation_(std::move(validation)), options_(std::move(options)) {
  RowDataOptions& o = options_;
  if (!o.tokenizer) o.tokenizer = no_tokenizer();
  if (!o.objective) o.objective = make_objective(o.task, o.outputs);
  if (o.outputs.empty()) throw Error("[rows] expected the names of the outputs");
  if (task_kind(o.task).outputs == OutputShape::symbols)
    throw Error(std::string("[rows] expected a task that learns from rows, but ") + task_name(o.task) +
                " learns from a text");
  if (o.input.defined()) check_input_spec(o.input);
  else if (o.tokenizer->size() == 0) throw Error("[rows] expected a tokenizer, or an input of frames, got neither");
  if (o.input.is_picture()) o.length = o.input.patches();
  check_batch("rows", o.length, 1, o.batch);
  if (validation_.size < 1) throw Error("[rows] the validation set has no rows");
  for (const RowSet* set : {&training_, &validation_})
    if (set->size < 0 || (set->size > 0 && !set->row))
      throw Error("[rows] expected a function that makes " + std::to_string(set->size) + " rows");
}

Row RowData::checked(const RowSet& set, const char* name, std::int64_t k) const {
  Row row = set.row(k);
  check_row(std::string("[rows] row ") + std::to_string(k) + " of the " + name + " set", row, options_);
  return row;
}

// Makes a batch of the rows, sorted by length. Rows of different lengths are padded, and Batch::lengths has their
// lengths.
Batch RowData::gather(std::vector<Row> rows) const {
  const InputSpec& input = options_.input;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& a, const Row& b) { return length_of(a, input) < length_of(b, input); });
  const std::int64_t longest = length_of(rows.back(), input);
  Batch batch;
  if (rows.front().tokens.defined()) batch.tokens = stacked(members(rows, &Row::tokens), longest, 0);
  if (input.defined()) batch.frames = stacked(members(rows, &Row::frames), input.is_picture() ? 0 : longest, 0);
  const bool per_token = task_kind(options_.task).outputs == OutputShape::per_token;
  batch.target = stacked(members(rows, &Row::target), per_token ? longest : 0, ignored_target);
  batch.predicted = predicted_in(batch.target);
  if (length_of(rows.front(), input) < longest)
    for (const Row& row : rows) batch.lengths.push_back(length_of(row, input));
  return batch;
}

// Row r of the run is row r mod N of epoch r / N.
Batch RowData::training(std::int64_t k, const Random& random) const {
  const std::int64_t count = training_.size;
  if (count == 0) throw Error("[rows] the training set has no rows");
  return guard_memory("rows", [&] {
    const NoGrad suspended;
    const Random changes = random.split(~std::uint64_t{0});  // no epoch has this number
    std::vector<Row> rows;
    for (std::int64_t r = k * options_.batch; r < (k + 1) * options_.batch; ++r) {
      const Random epoch = random.split(static_cast<std::uint64_t>(r / count));
      Row row = checked(training_, "training", shuffled(r % count, count, epoch));
      if (options_.augment) row = options_.augment(std::move(row), changes.split(static_cast<std::uint64_t>(r)));
      rows.push_back(std::move(row));
    }
    return gather(std::move(rows));
  });
}

std::int64_t RowData::validation_batches() const noexcept {
  return (validation_.size + options_.batch - 1) / options_.batch;
}

Batch RowData::validation(std::int64_t k) const {
  return guard_memory("rows", [&] {
    const NoGrad suspended;
    std::vector<Row> rows;
    for (std::int64_t r = k * options_.batch; r < std::min((k + 1) * options_.batch, validation_.size); ++r)
      rows.push_back(checked(validation_, "validation", r));
    return gather(std::move(rows));
  });
}

Tensor RowData::loss(const Tensor& output, const Batch& batch) const { return options_.objective->loss(output, batch); }

std::unique_ptr<Meter> RowData::meter() const { return options_.objective->meter(); }

// Hashes only some rows, because the function that makes rows may be slow.
std::string RowData::fingerprint() const {
  const std::string sizes = std::to_string(training_.size) + " + " + std::to_string(validation_.size) + " rows, ";
  if (!options_.name.empty()) return sizes + options_.name;
  constexpr std::int64_t most = 16;
  std::uint64_t h = hash_start;
  for (const RowSet* set : {&training_, &validation_})
    for (std::int64_t i = 0; i < std::min(set->size, most); ++i) {
      const Row row = set->row(i * set->size / std::min(set->size, most));
      for (const Tensor* x : {&row.tokens, &row.frames, &row.target})
        if (x->defined()) {
          const Tensor whole = raw::contiguous(*x);
          const auto* bytes = static_cast<const unsigned char*>(whole.raw());
          h = hash(h, std::vector<unsigned char>(bytes, bytes + whole.numel() * dtype_size(whole.dtype())));
        }
    }
  return sizes + "hash " + std::to_string(h);
}

ModelSpec RowData::spec(const std::string& arch, const std::string& config) const {
  return {arch,           options_.task,  options_.tokenizer->size(), std::ssize(options_.outputs), config,
          options_.input, options_.output};
}

}  // namespace weft
