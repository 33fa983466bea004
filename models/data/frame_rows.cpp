#include "weft/frame_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "data/augmentation.h"
#include "data/targets.h"
#include "rows/picture_files.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/sound.h"

namespace weft {
using namespace detail;

namespace {

RowContent content_of(const InputSpec& input) {
  return input.is_picture() ? RowContent::pictures : input.sound.defined() ? RowContent::sounds : RowContent::frames;
}

// The sums over all rows for each channel. Rows are added in order, so the sums don't depend on the number of threads.
struct Moments {
  std::vector<double> origin, sum, squares;  // relative to the first frame, so that a large offset costs no precision
  double count = 0;

  void add(const Tensor& frames) {
    const std::vector<float> x = frames.to_vector<float>();
    const auto channels = static_cast<std::size_t>(frames.size(-1));
    if (origin.empty()) origin.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(channels));
    sum.resize(channels);
    squares.resize(channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = static_cast<double>(x[i]) - origin[i % channels];
      sum[i % channels] += difference;
      squares[i % channels] += difference * difference;
    }
    count += static_cast<double>(x.size() / channels);
  }

  void put_into(InputSpec& spec) const {
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double mean = sum[c] / count, variance = squares[c] / count - mean * mean;
      spec.mean.push_back(origin[c] + mean);
      spec.deviation.push_back(variance > 1e-12 * (squares[c] / count) ? std::sqrt(variance) : 1);
    }
  }
};

// Converts several rows in parallel, because the spectra of a sound take long to compute.
Moments moments_of(const LabeledTexts& rows, const InputSpec& spec) {
  constexpr std::int64_t together = 64;
  Moments moments;
  for (std::int64_t first = 0; first < std::ssize(rows.texts); first += together) {
    std::vector<Tensor> frames(static_cast<std::size_t>(std::min(together, std::ssize(rows.texts) - first)));
    Context::current().parallel_for(std::ssize(frames), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        frames[static_cast<std::size_t>(i)] = frames_of_row(rows.texts[static_cast<std::size_t>(first + i)], spec);
    });
    for (const Tensor& of_row : frames) moments.add(of_row);
  }
  return moments;
}

void check_set(const LabeledTexts& set, const InputSpec& input) {
  if (set.texts.empty()) return;
  if (set.content() != content_of(input))
    throw Error(std::string("[rows] expected ") + row_content_name(content_of(input)) + ", got " +
                row_content_name(set.content()));
  const PictureSize& size = set.picture;
  const bool has_channels = size.channels == input.channels || (size.channels == 1 && input.channels == 3);
  if (input.is_picture() && (size.height != input.height || size.width != input.width || !has_channels))
    throw Error("[pictures] expected pictures of " + describe_size({input.height, input.width, input.channels}) +
                ", got " + describe_size(size));
  if (set.content() == RowContent::frames && set.channels != input.channels)
    throw Error("[rows] expected frames of " + std::to_string(input.channels) + " numbers, got " +
                std::to_string(set.channels));
}

// Throws an Error unless the row has a tag for each frame.
void check_tags(const TargetKind& kind, const LabeledTexts& rows, std::size_t row, std::int64_t frames) {
  if (kind.task != Task::tagging) return;
  const std::int64_t tags = target_of_row(kind, rows, row).size(0);
  if (tags != frames)
    throw Error("[rows] row " + row_name(rows, row) + ": expected one tag for each of " + std::to_string(frames) +
                " frames, got " + std::to_string(tags));
}

// Spectra are computed once and kept. Pictures are stored as bytes and converted each time, because f32 numbers would
// take four times as much memory.
RowSet rows_of(LabeledTexts set, const TargetKind& kind, const InputSpec& input, std::int64_t length) {
  check_set(set, input);
  const auto rows = std::make_shared<LabeledTexts>(std::move(set));
  const auto kept = std::make_shared<std::vector<Tensor>>();
  if (!input.is_picture()) {
    kept->resize(rows->texts.size());
    Context::current().parallel_for(std::ssize(*kept), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const Tensor whole = frames_of_row(rows->texts[i], input);
        check_tags(kind, *rows, i, whole.size(0));
        (*kept)[i] = whole.size(0) > length ? raw::contiguous(slice(whole, 0, 0, length)) : whole;
        std::string().swap(rows->texts[i]);
      }
    });
  }
  return {std::ssize(rows->texts), [rows, kept, kind, input](std::int64_t k) {
            const auto i = static_cast<std::size_t>(k);
            const Tensor frames = kept->empty() ? frames_of_row(rows->texts[i], input) : (*kept)[i];
            const Tensor target = target_of_row(kind, *rows, i);
            const bool is_cut = kind.task == Task::tagging && target.size(0) > frames.size(0);
            return Row{{}, frames, is_cut ? raw::contiguous(slice(target, 0, 0, frames.size(0))) : target};
          }};
}

std::uint64_t hash_of(const LabeledTexts& rows, const TargetKind& kind) {
  BytesHash hash;
  for (const std::string& row : rows.texts) hash.add(row);
  if (kind.task == Task::classifier) hash.add(rows.labels.data(), rows.labels.size() * sizeof(std::int64_t));
  else
    for (const std::int64_t label : rows.labels) hash.add(rows.names[static_cast<std::size_t>(label)] + '\n');
  return hash.value();
}

std::string data_name(const LabeledTexts& training, const LabeledTexts& validation, const TargetKind& kind,
                      const InputSpec& input) {
  // The data of picture classifiers keep the name that they had in earlier versions, so that runs of those versions can
  // continue.
  const bool as_before = input.is_picture() && kind.task == Task::classifier;
  return std::string(row_content_name(content_of(input))) +
         (as_before ? "" : std::string(", ") + task_name(kind.task)) + ", hash " +
         std::to_string(hash_of(training, kind)) + " " + std::to_string(hash_of(validation, kind));
}

}  // namespace

RowContent row_content(const Model& model) {
  return model.vocabulary() > 0 || !model.input().defined() ? RowContent::texts : content_of(model.input());
}

InputSpec frame_input(const LabeledTexts& rows, std::int64_t patch) {
  return guard_memory("rows", [&] {
    if (rows.content() == RowContent::pictures) return picture_input(rows, patch);
    if (rows.texts.empty() || rows.content() == RowContent::texts) throw Error("[rows] expected rows of numbers");
    InputSpec spec;
    spec.channels = rows.channels;
    if (rows.content() == RowContent::sounds) {
      spec.sound.rate = rows.rate;
      spec.sound.window = std::max<std::int64_t>(rows.rate / 40, 2);
      spec.sound.hop = std::max<std::int64_t>(rows.rate / 100, 1);
      spec.channels = spec.sound.mels;
    }
    moments_of(rows, spec).put_into(spec);
    check_input_spec(spec);
    return spec;
  });
}

Tensor frames_of_row(const std::string& row, const InputSpec& input, std::int64_t longest) {
  if (input.is_picture()) return picture_tensor(row, input);
  Tensor frames;
  if (input.sound.defined()) {
    const Sound sound = read_wav(row);
    if (sound.rate != input.sound.rate)
      throw Error("[sound] expected " + std::to_string(input.sound.rate) + " samples a second, got " +
                  std::to_string(sound.rate));
    frames = log_mel(sound.samples, input.sound);
  } else {
    const std::size_t size = static_cast<std::size_t>(input.channels) * sizeof(float);
    if (row.empty() || row.size() % size != 0)
      throw Error("[rows] expected frames of " + std::to_string(input.channels) + " numbers, got " +
                  std::to_string(row.size()) + " bytes");
    std::vector<float> numbers(row.size() / sizeof(float));
    std::memcpy(numbers.data(), row.data(), row.size());
    frames = Tensor::from(numbers, {static_cast<std::int64_t>(row.size() / size), input.channels});
  }
  return longest > 0 && frames.size(0) > longest ? raw::contiguous(slice(frames, 0, 0, longest)) : frames;
}

std::int64_t longest_row(const LabeledTexts& rows, const InputSpec& input) {
  std::int64_t longest = input.patches();
  for (std::size_t i = 0; !input.is_picture() && i < rows.texts.size(); ++i) {
    const std::string& row = rows.texts[i];
    longest = std::max(longest, input.sound.defined() ? frames_of_sound(std::ssize(read_wav(row).samples), input.sound)
                                                      : frames_of_row(row, input).size(0));
  }
  return longest;
}

std::unique_ptr<RowData> frame_data(LabeledTexts training, LabeledTexts validation, const TargetKind& kind,
                                    const InputSpec& input, std::int64_t length, std::int64_t batch,
                                    const Augmentation& augmentation, const LearningOptions& learning) {
  return guard_memory("rows", [&] {
    if (kind.task == Task::classifier)
      for (const LabeledTexts* set : {&training, &validation})
        if (!set->texts.empty() && set->names != kind.outputs)
          throw Error("[rows] the validation set has different labels than the training set");
    RowDataOptions options;
    options.task = kind.task;
    options.batch = batch;
    options.outputs = kind.outputs;
    options.input = input;
    options.output = kind.output;
    options.length = length;
    options.name = data_name(training, validation, kind, input) + describe(learning);
    augment_pictures(options, augmentation);
    const std::vector<std::int64_t> classes = classes_of_rows(kind, training);
    options.objective = objective_for(kind.task, kind.outputs, learning, classes);
    RowSet learned = rows_of(std::move(training), kind, input, length);
    if (learning.balance == Balance::rows)
      learned = chosen_rows(std::move(learned), balanced_rows(classes, std::ssize(kind.outputs)));
    return std::make_unique<RowData>(std::move(learned), rows_of(std::move(validation), kind, input, length), options);
  });
}

}  // namespace weft
