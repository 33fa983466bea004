// weft-step-bench: measures time, memory and operations of a training step or a forward pass of a model.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/serve.h"
#include "steps/step.h"
#include "weft/context.h"
#include "weft/error.h"

namespace {

using namespace weft;
using namespace weft::bench;

struct Options : CommonOptions {
  std::string model, mode = "train", precision = "f32", save;
  int repeat = 15;
  double seconds = 0;
  bool serve = false, recompute = false, batch_first = false;
};

// --seq-len and similar flags override the default sizes of the model. A flag that does not apply to the model is an
// error.
class SizeFlags {
 public:
  explicit SizeFlags(CLI::App& app) {
    const std::string every = "gmlp tnn fnet attention";
    add(app, "--batch", &StepSizes::batch, every, "Sequences");
    add(app, "--seq-len", &StepSizes::seq_len, every, "Tokens per sequence");
    add(app, "--d-model", &StepSizes::d_model, every, "Channels per token");
    add(app, "--layers", &StepSizes::layers, every, "Blocks");
    add(app, "--d-ffn", &StepSizes::d_ffn, "gmlp fnet attention", "Channels of the first linear layer");
    add(app, "--glu-dim", &StepSizes::glu_dim, "tnn", "Channels of the gated linear unit");
    add(app, "--expand-ratio", &StepSizes::expand_ratio, "tnn", "Channels of the Toeplitz product, divided by d_model");
    add(app, "--rpe-dim", &StepSizes::rpe_dim, "tnn", "Channels of the relative position encoder");
    add(app, "--rpe-layers", &StepSizes::rpe_layers, "tnn", "Hidden layers of the relative position encoder");
    add(app, "--heads", &StepSizes::heads, "attention", "Attention heads");
    add(app, "--query-block", &StepSizes::query_block, "attention",
        "Queries whose scores are in memory at the same time; default: all");
    add(app, "--lm", &StepSizes::vocabulary, every,
        "Use a language model with this many symbols; default: only the blocks");
  }

  StepSizes sizes(const std::string& model) const {
    StepSizes s = default_sizes(model);
    for (const Flag& flag : flags_) {
      if (flag.option->count() == 0) continue;
      if (flag.models.find(model) == std::string::npos)
        throw Error(flag.option->get_name() + " is not a size of " + model);
      s.*flag.size = flag.option->as<std::int64_t>();
    }
    return s;
  }

 private:
  struct Flag {
    CLI::Option* option;
    std::int64_t StepSizes::*size;
    std::string models;
  };

  void add(CLI::App& app, const std::string& name, std::int64_t StepSizes::*size, const std::string& models,
           std::string what) {
    std::string defaults;
    for (const char* model : {"gmlp", "tnn", "fnet", "attention"})
      if (models.find(model) != std::string::npos && default_sizes(model).*size > 0)
        defaults +=
            std::string(defaults.empty() ? " (" : ", ") + model + " " + std::to_string(default_sizes(model).*size);
    if (!defaults.empty()) what += defaults + ")";
    CLI::Option* option = app.add_option(name)->description(what)->group("Sizes")->type_name("N");
    flags_.push_back({option->check(CLI::Range(1, 1 << 24)), size, models});
  }

  std::vector<Flag> flags_;
};

void add_options(CLI::App& app, Options& o) {
  app.add_option("--model", o.model, "Model: gmlp, tnn, fnet or attention")
      ->required()
      ->check(CLI::IsMember({"gmlp", "tnn", "fnet", "attention"}));
  app.add_option("--mode", o.mode,
                 "forward (without a tape), backward (forward and backward), or train (forward, backward and AdamW)")
      ->capture_default_str()
      ->check(CLI::IsMember({"forward", "backward", "train"}));
  add_precision(app, o.precision, "quantized weights, bf16 activations; no training and no --save");
  add_common_options(app, o);
  app.add_option("--repeat", o.repeat, "Number of timed steps, after two untimed ones")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--seconds", o.seconds, "Run for this many seconds and print only the steps per second");
  app.add_option("--save", o.save,
                 "Write input, parameters, result and gradients to this safetensors file and measure nothing");
  app.add_flag("--batch-first", o.batch_first,
               "Call the blocks with sequences (b, n, d) instead of (n, b, d); only for gmlp without --lm");
  app.add_flag("--recompute", o.recompute, "Recompute each block in backward");
  app.add_flag(
      "--serve", o.serve,
      "Answer lines of standard input: \"warm\" after the untimed steps, \"run\" with the seconds of one step, "
      "\"report\" with the JSON line, \"ran\" with samples of the vector instructions of one more step");
  app.footer(
      "Prints one JSON line. A product has 2 M N K flops, and a complex transform has 5 n log2 n. Forward and "
      "backward\n"
      "have three times as many flops as forward. peak_bytes is VmHWM minus its value after the model was made.\n"
      "Examples:\n"
      "  weft-step-bench --model gmlp --mode train --threads 2 --repeat 7 --layers 2\n"
      "  weft-step-bench --model tnn --mode forward --isa avx2");
}

nlohmann::json answer(const std::string& request, Step& step) {
  if (request == "warm") {
    step.warm();
    return "warm";
  }
  if (request == "run") return step.run();
  if (request == "report") return step.report();
  if (request == "ran") return counts(step.ran());
  throw Error("expected warm, run, report or ran, got " + request);
}

int run(int argc, char** argv) {
  CLI::App app("Times the training step or the forward pass of a stack of blocks.", "weft-step-bench");
  Options o;
  add_options(app, o);
  const SizeFlags flags(app);
  if (const auto code = parse(app, argc, argv)) return *code;
  cap_isa(o.isa, argv);
  StepSizes sizes = flags.sizes(o.model);
  sizes.int8 = o.precision == "int8";
  if (sizes.int8 && (o.mode != "forward" || !o.save.empty()))
    throw Error("--precision int8 needs --mode forward and no --save: a quantized model is for inference only");
  sizes.precision = sizes.int8 ? Precision::bf16 : precision_from_name(o.precision);
  sizes.recompute = o.recompute;
  if (o.batch_first && (o.model != "gmlp" || sizes.vocabulary > 0))
    throw Error("--batch-first needs --model gmlp without --lm: other models have only one layout");
  sizes.batch_first = o.batch_first;
  Step step(sizes, mode_from_name(o.mode), o.threads);
  if (!o.save.empty()) {
    step.save(o.save);
    return 0;
  }
  if (o.serve) {
    serve([&](const std::string& request) { return answer(request, step); });
    return 0;
  }
  if (o.seconds > 0) {
    std::cout << step.rate(o.seconds) << std::endl;
    return 0;
  }
  for (int i = 0; i < o.repeat; ++i) step.run();
  std::cout << step.report() << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return main_of("weft-step-bench", run, argc, argv); }
