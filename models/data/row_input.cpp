#include "data/row_input.h"

#include "weft/frame_rows.h"
#include "weft/ops.h"

namespace weft::detail {

bool reads_numbers(const Model& model) { return model.input().defined() && model.vocabulary() == 0; }

ModelInput input_of_numbers(const std::string& row, const Checkpoint& checkpoint) {
  const std::int64_t longest = checkpoint.info.length > 0 ? checkpoint.info.length : checkpoint.model->max_length();
  const Tensor frames = frames_of_row(row, checkpoint.model->input(), longest);
  Shape shape = frames.shape();
  shape.insert(shape.begin(), 1);
  return {{}, reshape(frames, shape)};
}

}  // namespace weft::detail
