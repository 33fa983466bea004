// Loads another program's checkpoint, computes its outputs and gradients, and writes the checkpoint back, for
// interop.py.
//   answer FORM DIR IN OUT f32|f64 [TASK]
// The file IN has ids (b, n), optionally types (b, n), and the cotangent of each output. The program writes to the
// folder OUT: out.safetensors, grad/ (a checkpoint in the same format whose tensors are the gradients), and back/ (the
// checkpoint).
#include <weft/checkpoint_format.h>
#include <weft/fnet.h>
#include <weft/ops.h>
#include <weft/safetensors.h>

#include <cstdio>
#include <map>

using weft::Tensor;

namespace {

// A copy of the model in the given dtype.
std::unique_ptr<weft::Model> in_dtype(const weft::Model& model, weft::DType dtype) {
  const std::int64_t classes = weft::task_source(model.task()) == weft::Source::rows ? model.outputs() : 0;
  auto made = weft::make_model({model.arch(), model.task(), model.vocabulary(), classes, model.config()},
                               {weft::Random(0), dtype});
  const weft::NamedParameters from = model.parameters(), to = made->parameters();
  for (std::size_t i = 0; i < to.size(); ++i)
    weft::Parameter(to[i].second).assign(weft::raw::convert(from[i].second.value(), dtype));
  return made;
}

std::map<std::string, Tensor> outputs_of(const weft::Model& model, const Tensor& ids, const Tensor& types) {
  const auto* fnet = dynamic_cast<const weft::Fnet*>(&model);
  if (fnet == nullptr) return {{"words", model(ids)}};
  const weft::FnetOutputs out = fnet->run(ids, types);
  std::map<std::string, Tensor> all = {{"hidden", out.hidden}};
  if (out.pooled.defined()) all["pooled"] = out.pooled;
  if (out.words.defined()) all["words"] = out.words;
  if (out.classes.defined()) all["classes"] = out.classes;
  return all;
}

void answer(char** argv, const weft::LoadOptions& options) {
  const std::string format = argv[1], out = argv[4];
  const weft::DType dtype = std::string(argv[5]) == "f64" ? weft::DType::f64 : weft::DType::f32;
  weft::Checkpoint checkpoint = weft::load_checkpoint_as(format, argv[2], options);
  (void)weft::save_checkpoint_as(format, out + "/back", checkpoint);
  checkpoint.model = in_dtype(*checkpoint.model, dtype);
  const weft::SafetensorsFile in(argv[3]);
  const Tensor types = in.contains("types") ? in.load("types") : Tensor();
  weft::Gradients gradients;
  std::vector<std::pair<std::string, Tensor>> tensors;
  {
    weft::Tape tape;
    Tensor loss = Tensor::zeros({}, dtype);
    for (const auto& [name, value] : outputs_of(*checkpoint.model, in.load("ids"), types)) {
      tensors.emplace_back(name, value.detach());
      if (in.contains("d." + name))
        loss = add(loss, weft::sum(mul(value, weft::raw::convert(in.load("d." + name), dtype))));
    }
    tape.backward(loss, gradients);
  }
  weft::save_safetensors(out + "/out.safetensors", tensors);
  weft::Checkpoint slopes;
  slopes.model = in_dtype(*checkpoint.model, dtype);
  slopes.tokenizer = checkpoint.tokenizer;
  slopes.info = checkpoint.info;
  const weft::NamedParameters own = checkpoint.model->parameters(), to = slopes.model->parameters();
  for (std::size_t i = 0; i < own.size(); ++i) weft::Parameter(to[i].second).assign(gradients.of(own[i].second));
  (void)weft::save_checkpoint_as(format, out + "/grad", slopes);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6 || argc > 7) throw weft::Error("usage: answer FORM DIR IN OUT f32|f64 [TASK]");
  weft::LoadOptions options;
  if (argc == 7) options.task = weft::task_from_name(argv[6]);
  answer(argv, options);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "answer: %s\n", error.what());
  return 1;
}
