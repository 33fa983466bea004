// Models, streams and generation. Long calls release the interpreter's lock.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <weft/checkpoint.h>
#include <weft/classifier.h>
#include <weft/embed.h>
#include <weft/generate.h>
#include <weft/layers.h>
#include <weft/ops.h>
#include <weft/os.h>
#include <weft/predict.h>
#include <weft/run_folder.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "rows.h"
#include "tensors.h"

namespace weft::python {
namespace {

using namespace nb::literals;
using std::int64_t;

bool is_predicted(Task task) { return task == Task::regression || task == Task::multilabel || task == Task::tagging; }

// A loaded model. The package's Model, Stream and generators share its state.
class Loaded {
 public:
  Loaded(const std::string& folder, const std::optional<std::string>& precision, bool copy)
      : file_(checkpoint_folder(folder) + "/model.safetensors"), precision_(precision) {
    LoadOptions options = Purpose::inference;
    options.copy = copy;
    take(load_checkpoint(folder, options));
  }

  // Loads a model from the bytes of a checkpoint's model.safetensors.
  Loaded(std::string bytes, const std::optional<std::string>& precision)
      : bytes_(std::make_shared<const std::string>(std::move(bytes))), precision_(precision) {
    take(load_checkpoint(Bytes{bytes_->data(), bytes_->size(), bytes_}, Purpose::inference));
  }

  const Checkpoint& saved() const { return *saved_; }
  const std::shared_ptr<const Checkpoint>& shared() const { return saved_; }
  const Model& model() const { return *saved_->model; }
  const Tokenizer& tokenizer() const { return *saved_->tokenizer; }
  const Classifier& classifier() const {
    if (!classifier_) throw Error("[classify] " + Classifier::why_not(*saved_));
    return *classifier_;
  }
  const Predictor& predictor() const {
    if (!predictor_)
      throw Error(std::string("[predict] expected a model for the task regression, multilabel or tagging, got ") +
                  task_name(model().task()));
    return *predictor_;
  }
  // Makes an Embedder at the first call for a pooling, because it computes a forward pass.
  std::shared_ptr<const Embedder> embedder(Pooling pooling) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const Embedder>& embedder = embedders_[pooling];
    if (!embedder) embedder = std::make_shared<const Embedder>(saved_, pooling);
    return embedder;
  }
  // Returns the bytes of the checkpoint's model.safetensors.
  std::string bytes() const {
    if (!saved().info.format.empty())
      throw Error("[model] expected a checkpoint in weft's own format, got " + saved().info.format +
                  " (weft convert converts it)");
    return bytes_ ? *bytes_ : os::read_file(file_);
  }
  const std::optional<std::string>& given_precision() const { return precision_; }
  int64_t parameters() const { return parameter_count(model().parameters()); }

 private:
  void take(Checkpoint loaded) {
    if (precision_) loaded.model->set_precision(precision_from_name(*precision_));
    if (Classifier::why_not(loaded).empty()) {
      classifier_ = std::make_shared<const Classifier>(std::move(loaded));
      saved_ = {classifier_, &classifier_->checkpoint()};
    } else if (is_predicted(loaded.model->task())) {
      predictor_ = std::make_shared<const Predictor>(std::move(loaded));
      saved_ = {predictor_, &predictor_->checkpoint()};
    } else {
      saved_ = std::make_shared<const Checkpoint>(std::move(loaded));
    }
  }

  std::string file_;                          // path of model.safetensors; empty if loaded from bytes
  std::shared_ptr<const std::string> bytes_;  // null if loaded from a file
  std::optional<std::string> precision_;
  std::shared_ptr<const Classifier> classifier_;
  std::shared_ptr<const Predictor> predictor_;
  std::shared_ptr<const Checkpoint> saved_;
  mutable std::mutex mutex_ = {};
  mutable std::map<Pooling, std::shared_ptr<const Embedder>> embedders_;  // those that embedder() has made
};

// A text that grows. It keeps the model alive. The mutex serializes concurrent calls, which wait for it without holding
// the interpreter's lock.
struct Stream {
  std::shared_ptr<const Checkpoint> saved;
  std::unique_ptr<TokenStream> tokens;
  mutable std::mutex mutex = {};
};

// A continuation that is computed piece by piece. It keeps the model alive. The mutex serializes concurrent calls, as
// in Stream.
struct Continuation {
  std::shared_ptr<const Checkpoint> saved;
  Generation generation;
  std::mutex mutex = {};
};

nb::any logits(const Loaded& loaded, nb::handle tokens) {
  const Tensor ids = tensor_of("tokens", tokens, {DType::i64});
  // A copy, because another thread may write to the caller's tokens during the computation.
  const Tensor own = Tensor::from(ids.to_vector<int64_t>(), ids.shape());
  Tensor result;
  {
    const nb::gil_scoped_release release;
    result = loaded.model()(own);
  }
  return array_of(std::move(result));
}

nb::any encode(const Loaded& loaded, const std::string& text) {
  const std::vector<int64_t> ids = [&] {
    const nb::gil_scoped_release release;
    return loaded.tokenizer().encode(text);
  }();
  return array_of(Tensor::from(ids, {static_cast<int64_t>(ids.size())}));
}

nb::bytes decode(const Loaded& loaded, const std::vector<int64_t>& ids) {
  const std::string text = loaded.tokenizer().decode(ids);
  return nb::bytes(text.data(), text.size());
}

nb::any probabilities(const Loaded& loaded, nb::handle given) {
  const std::vector<std::string> rows = rows_of(given);
  Tensor all;
  {
    const nb::gil_scoped_release release;
    const Classifier& classifier = loaded.classifier();
    const auto count = static_cast<int64_t>(rows.size()), labels = static_cast<int64_t>(classifier.labels().size());
    all = Tensor::empty({count, labels}, DType::f64);
    double* to = all.mutable_data<double>();
    for (const std::vector<double>& row : classifier.probabilities(rows)) to = std::copy(row.begin(), row.end(), to);
  }
  return array_of(std::move(all));
}

// Returns the predicted numbers of a regression, (rows, outputs).
nb::any numbers(const Loaded& loaded, nb::handle given) {
  const std::vector<std::string> rows = rows_of(given);
  Tensor all;
  {
    const nb::gil_scoped_release release;
    const Predictor& predictor = loaded.predictor();
    all = Tensor::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(predictor.outputs().size())},
                        DType::f64);
    double* to = all.mutable_data<double>();
    for (const std::vector<double>& row : predictor.numbers(rows)) to = std::copy(row.begin(), row.end(), to);
  }
  return array_of(std::move(all));
}

// Returns the outputs of a forecast model, computed from the last rows of frames (n, channels).
nb::any forecast(const Loaded& loaded, nb::handle frames) {
  const Tensor x = tensor_of("series", frames, {DType::f32});
  if (loaded.model().task() != Task::forecast)
    throw Error(std::string("[forecast] expected a model for the task forecast, got ") +
                task_name(loaded.model().task()));
  const int64_t length = loaded.saved().info.length, channels = loaded.model().input().channels;
  if (x.rank() != 2 || x.size(0) < length || x.size(1) != channels)
    throw Error("[forecast] expected at least " + std::to_string(length) + " rows of " + std::to_string(channels) +
                " columns, got " + to_string(x.shape()));
  Tensor last = Tensor::empty({1, length, channels}, DType::f32);
  raw::copy(unsqueeze(slice(x, 0, x.size(0) - length, x.size(0)), 0), last);
  return array_of(unlocked([&] {
    const NoGrad suspended;
    return raw::contiguous(raw::convert(reshape(loaded.model().forward({{}, last}), {-1}), DType::f64));
  }));
}

std::vector<std::vector<std::pair<std::string, double>>> several_labels(const Loaded& loaded, nb::handle given,
                                                                        double threshold) {
  const std::vector<std::string> rows = rows_of(given);
  const nb::gil_scoped_release release;
  std::vector<std::vector<std::pair<std::string, double>>> all;
  for (const std::vector<Prediction>& predictions : loaded.predictor().labels(rows, threshold)) {
    all.emplace_back();
    for (const Prediction& p : predictions) all.back().emplace_back(p.label, p.probability);
  }
  return all;
}

// Returns for each row its words, or the numbers of its frames, with their tags.
std::vector<std::vector<std::pair<std::string, std::string>>> tags(const Loaded& loaded, nb::handle given) {
  const std::vector<std::string> rows = rows_of(given);
  const nb::gil_scoped_release release;
  return loaded.predictor().tags(rows);
}

nb::any vectors(const Loaded& loaded, const std::vector<std::string>& texts, const std::string& pooling) {
  Tensor all;
  {
    const nb::gil_scoped_release release;
    all = (*loaded.embedder(pooling_from_name(pooling)))(texts);
  }
  return array_of(std::move(all));
}

nb::bytes bytes_of(const Loaded& loaded) {
  const std::string bytes = loaded.bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

std::unique_ptr<Stream> new_stream(const Loaded& loaded) {
  return std::unique_ptr<Stream>(new Stream{loaded.shared(), loaded.model().stream()});
}

std::unique_ptr<Stream> copy_of(const Stream& stream) {
  const nb::gil_scoped_release release;
  const std::lock_guard<std::mutex> lock(stream.mutex);
  return std::unique_ptr<Stream>(new Stream{stream.saved, stream.tokens->select({0})});
}

nb::any append(Stream& stream, nb::handle tokens) {
  const Tensor ids = tensor_of("tokens", tokens, {DType::i64});
  if (ids.rank() != 1 || ids.numel() < 1)
    throw Error("[stream] expected at least one token, of shape (n), got " + to_string(ids.shape()));
  // A copy, because a stream may keep its tokens, and the program may change its array.
  const std::vector<int64_t> copy = ids.to_vector<int64_t>();
  Tensor result;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(stream.mutex);
    result = stream.tokens->append(Tensor::from(copy, {1, ids.numel()}));
    Tensor own = Tensor::empty({result.size(1)}, result.dtype());
    raw::copy(result.view(own.shape(), {result.strides()[1]}, result.offset()), own);
    result = own;
  }
  return array_of(std::move(result));
}

std::unique_ptr<Continuation> generation(const Loaded& loaded, const std::string& prompt,
                                         const GenerateOptions& options) {
  return std::unique_ptr<Continuation>(
      new Continuation{loaded.shared(), Generation(loaded.model(), loaded.tokenizer(), prompt, options)});
}

std::optional<nb::bytes> next_piece(Continuation& continuation) {
  std::optional<std::string> piece;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(continuation.mutex);
    piece = continuation.generation.next();
  }
  if (!piece) return std::nullopt;
  return nb::bytes(piece->data(), piece->size());
}

nb::dict card_of(const ModelCard& card) {
  nb::dict validation, all;
  for (const auto& [metric, value] : card.validation) validation[metric.c_str()] = value;
  all["license"] = card.license;
  all["about"] = card.about;
  all["data"] = card.data;
  all["settings"] = card.settings;
  all["validation"] = validation;
  return all;
}

}  // namespace

void add_models(nb::module_& module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  module.def("text_pair", text_pair, "first"_a, "second"_a);
  nb::class_<Loaded>(module, "Loaded")
      .def(nb::init<const std::string&, const std::optional<std::string>&, bool>(), "folder"_a, "precision"_a.none(),
           "copy"_a, Unlocked())
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes, const std::optional<std::string>& precision) {
            return std::make_unique<Loaded>(std::string(bytes.c_str(), bytes.size()), precision);
          },
          "bytes"_a, "precision"_a.none())
      .def_prop_ro("bytes", bytes_of)
      .def_prop_ro("given_precision", &Loaded::given_precision)
      .def_prop_ro("picture",
                   [](const Loaded& l) {
                     const InputSpec& input = l.model().input();
                     return std::vector<int64_t>{input.height, input.width, input.channels};
                   })
      .def_prop_ro("channels", [](const Loaded& l) { return l.model().input().channels; })
      .def_prop_ro("step", [](const Loaded& l) { return l.saved().info.step; })
      .def_prop_ro("pairs", [](const Loaded& l) { return l.saved().info.pairs; })
      .def_prop_ro("architecture", [](const Loaded& l) { return std::string(l.model().arch()); })
      .def_prop_ro("task", [](const Loaded& l) { return std::string(task_name(l.model().task())); })
      .def_prop_ro("precision", [](const Loaded& l) { return std::string(precision_name(l.model().precision())); })
      .def_prop_ro("tokenizer", [](const Loaded& l) { return std::string(l.tokenizer().kind()); })
      .def_prop_ro("config", [](const Loaded& l) { return l.model().config(); })
      .def_prop_ro("card", [](const Loaded& l) { return card_of(l.saved().info.card); })
      .def_prop_ro("vocabulary", [](const Loaded& l) { return l.model().vocabulary(); })
      .def_prop_ro("outputs", [](const Loaded& l) { return l.model().outputs(); })
      .def_prop_ro("max_length", [](const Loaded& l) { return l.model().max_length(); })
      .def_prop_ro("labels", [](const Loaded& l) { return l.saved().info.labels; })
      .def_prop_ro("parameters", &Loaded::parameters)
      .def("logits", logits, "tokens"_a)
      .def("encode", encode, "text"_a)
      .def("decode", decode, "ids"_a)
      .def("probabilities", probabilities, "rows"_a)
      .def("numbers", numbers, "rows"_a)
      .def("several_labels", several_labels, "rows"_a, "threshold"_a)
      .def("tags", tags, "rows"_a)
      .def("forecast", forecast, "frames"_a)
      .def_prop_ro("columns", [](const Loaded& l) { return l.model().input().names; })
      .def("vectors", vectors, "texts"_a, "pooling"_a)
      .def("stream", new_stream)
      .def(
          "generation",
          [](const Loaded& loaded, const std::string& prompt, int64_t tokens, double temperature, int64_t top_k,
             double top_p, std::uint64_t seed, const std::vector<std::string>& stop, bool speculate) {
            GenerateOptions options;
            options.tokens = tokens;
            options.temperature = temperature;
            options.top_k = top_k;
            options.top_p = top_p;
            options.seed = seed;
            options.stop = stop;
            options.speculate = speculate;
            return generation(loaded, prompt, options);
          },
          "prompt"_a, "tokens"_a, "temperature"_a, "top_k"_a, "top_p"_a, "seed"_a, "stop"_a, "speculate"_a, Unlocked());
  nb::class_<Stream>(module, "Stream").def("append", append, "tokens"_a).def("copy", copy_of);
  nb::class_<Continuation>(module, "Continuation").def("next", next_piece);
}

}  // namespace weft::python
