// Models, streams and generation. Long calls release the interpreter's lock.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <weft/checkpoint.h>
#include <weft/classifier.h>
#include <weft/generate.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "bindings.h"

namespace weft::python {
namespace {

using namespace nb::literals;
using std::int64_t;

// The state shared by the package's Model and Stream and by its generators.
class Loaded {
 public:
  Loaded(const std::string& folder, const std::optional<std::string>& precision, bool copy) {
    LoadOptions options = Purpose::inference;
    options.copy = copy;
    Checkpoint loaded = load_checkpoint(folder, options);
    if (precision) loaded.model->set_precision(precision_from_name(*precision));
    if (Classifier::why_not(loaded).empty()) {
      classifier_ = std::make_shared<const Classifier>(std::move(loaded));
      saved_ = {classifier_, &classifier_->checkpoint()};
    } else {
      saved_ = std::make_shared<const Checkpoint>(std::move(loaded));
    }
  }

  const Checkpoint& saved() const { return *saved_; }
  const std::shared_ptr<const Checkpoint>& shared() const { return saved_; }
  const Model& model() const { return *saved_->model; }
  const Tokenizer& tokenizer() const { return *saved_->tokenizer; }
  const Classifier& classifier() const {
    if (!classifier_) throw Error("[classify] " + Classifier::why_not(*saved_));
    return *classifier_;
  }
  int64_t parameters() const {
    int64_t count = 0;
    for (const auto& [name, parameter] : model().parameters()) count += numel(parameter.value().shape());
    return count;
  }

 private:
  std::shared_ptr<const Classifier> classifier_;
  std::shared_ptr<const Checkpoint> saved_;
};

// A text that grows. It keeps the model alive. Concurrent calls wait for one another, without the interpreter's lock.
struct Stream {
  std::shared_ptr<const Checkpoint> saved;
  std::unique_ptr<TokenStream> tokens;
  mutable std::mutex mutex = {};
};

// A continuation that is computed piece by piece. It keeps the model alive. Concurrent calls wait for one another, as
// with a Stream.
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

nb::any probabilities(const Loaded& loaded, const std::vector<std::string>& texts) {
  Tensor all;
  {
    const nb::gil_scoped_release release;
    const Classifier& classifier = loaded.classifier();
    const auto rows = static_cast<int64_t>(texts.size()), labels = static_cast<int64_t>(classifier.labels().size());
    all = Tensor::empty({rows, labels}, DType::f64);
    double* to = all.mutable_data<double>();
    for (const std::vector<double>& row : classifier.probabilities(texts)) to = std::copy(row.begin(), row.end(), to);
  }
  return array_of(std::move(all));
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
  const std::vector<int64_t> copy = ids.to_vector<int64_t>();  // a stream may keep its tokens
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

}  // namespace

void add_models(nb::module_& module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  module.def("text_pair", text_pair, "first"_a, "second"_a);
  nb::class_<Loaded>(module, "Loaded")
      .def(nb::init<const std::string&, const std::optional<std::string>&, bool>(), "folder"_a, "precision"_a.none(),
           "copy"_a, Unlocked())
      .def_prop_ro("architecture", [](const Loaded& l) { return std::string(l.model().arch()); })
      .def_prop_ro("task", [](const Loaded& l) { return std::string(task_name(l.model().task())); })
      .def_prop_ro("precision", [](const Loaded& l) { return std::string(precision_name(l.model().precision())); })
      .def_prop_ro("tokenizer", [](const Loaded& l) { return std::string(l.tokenizer().kind()); })
      .def_prop_ro("config", [](const Loaded& l) { return l.model().config(); })
      .def_prop_ro("vocabulary", [](const Loaded& l) { return l.model().vocabulary(); })
      .def_prop_ro("outputs", [](const Loaded& l) { return l.model().outputs(); })
      .def_prop_ro("max_length", [](const Loaded& l) { return l.model().max_length(); })
      .def_prop_ro("labels", [](const Loaded& l) { return l.saved().info.labels; })
      .def_prop_ro("parameters", &Loaded::parameters)
      .def("logits", logits, "tokens"_a)
      .def("encode", encode, "text"_a)
      .def("decode", decode, "ids"_a)
      .def("probabilities", probabilities, "texts"_a)
      .def("stream", new_stream)
      .def(
          "generation",
          [](const Loaded& loaded, const std::string& prompt, int64_t tokens, double temperature, int64_t top_k,
             double top_p, std::uint64_t seed, const std::vector<std::string>& stop) {
            GenerateOptions options;
            options.tokens = tokens;
            options.temperature = temperature;
            options.top_k = top_k;
            options.top_p = top_p;
            options.seed = seed;
            options.stop = stop;
            return generation(loaded, prompt, options);
          },
          "prompt"_a, "tokens"_a, "temperature"_a, "top_k"_a, "top_p"_a, "seed"_a, "stop"_a, Unlocked());
  nb::class_<Stream>(module, "Stream").def("append", append, "tokens"_a).def("copy", copy_of);
  nb::class_<Continuation>(module, "Continuation").def("next", next_piece);
}

}  // namespace weft::python
