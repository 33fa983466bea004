#include "weft/model.h"

#include <algorithm>

#include "names.h"
#include "weft/architecture.h"

namespace weft {
namespace {

// A forward pass over the latest tokens, as many as the model takes.
class RepeatedPasses : public TokenStream {
 public:
  explicit RepeatedPasses(const Model& model) : model_(model) {}

  Tensor next(std::int64_t token) override {
    const NoGrad suspended;
    const auto longest = static_cast<std::size_t>(model_.max_length());
    if (longest > 0 && tokens_.size() == longest) tokens_.erase(tokens_.begin());
    tokens_.push_back(token);
    const auto n = static_cast<std::int64_t>(tokens_.size());
    const Tensor logits = model_(Tensor::from(tokens_, {1, n}));             // (1, n, vocabulary)
    return reshape(slice(logits, 1, n - 1, n), {model_.outputs()});
  }

 private:
  const Model& model_;
  std::vector<std::int64_t> tokens_;
};

void check_spec(const ModelSpec& spec, const Architecture& architecture) {
  if (spec.vocabulary < 1)
    throw Error("[model] expected a vocabulary of at least 1 symbol, got " + std::to_string(spec.vocabulary));
  const auto& tasks = architecture.tasks;
  if (std::find(tasks.begin(), tasks.end(), spec.task) == tasks.end())
    throw Error("[" + spec.arch + "] it can't be a " + task_name(spec.task) + ", its tasks are " +
                detail::join(detail::task_names(tasks)));
  if (task_source(spec.task) == Source::rows && spec.classes < 1)
    throw Error(std::string("[model] a ") + task_name(spec.task) + " needs at least 1 class, got " +
                std::to_string(spec.classes));
}

}  // namespace

NamedParameters Model::parameters() const {
  NamedParameters all;
  collect("", all);
  return all;
}

std::unique_ptr<TokenStream> Model::stream() const {
  if (task() != Task::causal_lm)
    throw Error(std::string("[generate] a ") + arch() + " " + task_name(task()) +
                " can't continue a text: that takes a causal language model");
  return std::make_unique<RepeatedPasses>(*this);
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init) {
  const Architecture& known = architecture(spec.arch);
  check_spec(spec, known);
  std::unique_ptr<Model> made = known.make(spec, init);
  // Else a checkpoint of it could not be loaded.
  const auto text = [](const std::string& arch, Task task) { return arch + " " + task_name(task); };
  if (made == nullptr || made->arch() != spec.arch || made->task() != spec.task)
    throw Error("[model] expected a " + text(spec.arch, spec.task) + ", its architecture made " +
                (made == nullptr ? "nothing" : "a " + text(made->arch(), made->task())));
  return made;
}

}  // namespace weft
