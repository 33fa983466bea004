// Memory runs out: each allocation of an operation, a training step, a save and a load fails in turn. The caller
// receives a weft::Error, never std::bad_alloc, and earlier state is intact.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "format_cases.h"
#include "op_table.h"
#include "running_out.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/classifier.h"
#include "weft/detail/out_of_memory.h"
#include "weft/fill_mask.h"
#include "weft/generate.h"
#include "weft/trainer.h"

namespace weft::test {
using namespace detail;

namespace {

std::vector<Tensor> copies(const NamedParameters& parameters) {
  std::vector<Tensor> all;
  for (const auto& [name, parameter] : parameters) {
    all.push_back(Tensor::empty(parameter.value().shape(), parameter.value().dtype()));
    raw::copy(parameter.value(), all.back());
  }
  return all;
}

bool same(const NamedParameters& parameters, const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!same_bits(parameters[i].second.value(), values[i])) return false;
  return true;
}

TrainOptions options_of(const std::string& optimizer) {
  TrainOptions options;
  options.schedule.steps = 8;
  options.optimizer.name = optimizer;
  options.micro_batches = 2;
  return options;
}

}  // namespace

TEST_CASE("out of memory: if there is no memory for its text, the Error has a fixed text") {
  for (const bool any : {true, false}) {
    std::string what;
    try {
      const FailingMemory memory(any ? 0 : 1, 0, true);
      guard_memory("an operation with a long name", [] { throw std::bad_alloc(); });
    } catch (const Error& error) {
      what = error.what();
    }
    CHECK(what == (any ? "[an operation with a long name] out of memory" : "[weft] out of memory"));
  }
}

// The operands are created in advance, because copies of handles and lists of sizes are allocations of the caller.
TEST_CASE("out of memory in an operation: an Error at each of its allocations") {
  const Tensor x = random_tensor({{4, 6}}, 1), y = random_tensor({{6}}, 2), square_matrix = random_tensor({{6, 6}}, 3);
  const Tensor cube = random_tensor({{1, 4, 6}}, 4), complex_x = raw::convert(x, DType::c128);
  const Tensor targets = random_tensor(indices({4}, 6), 5), lags = random_tensor({{1, 4, 6}}, 6);
  const Tensor heads = random_tensor({{2, 1, 4, 6}}, 7), gate = random_tensor({{4, 6, 2}}, 8),
               rows = random_tensor({{4}}, 9);
  const Tensor weight = random_tensor({{4, 4}}, 10);
  const Shape flat{24}, wide{3, 4, 6}, one{1};
  const std::vector<std::int64_t> dims{1, 0}, last{-1};
  const std::vector<Tensor> both{x, square_matrix}, twice{x, x};
  const std::string equation = "ij,jk->ik";
  const Epilogue epilogue(Activation::gelu);
  const Random random(3);
  const PackedWeight packed(square_matrix);
  const std::vector<std::pair<const char*, std::function<Tensor()>>> calls{
      {"add", [&] { return add(x, y); }},
      {"exp", [&] { return exp(x); }},
      {"scale", [&] { return scale(x, 2); }},
      {"gelu", [&] { return activation(x, Activation::gelu); }},
      {"dropout", [&] { return dropout(x, 0.5, random); }},
      {"complex", [&] { return complex(x, x); }},
      {"reshape", [&] { return reshape(x, flat); }},
      {"permute", [&] { return permute(x, dims); }},
      {"transpose", [&] { return transpose(x, 0, 1); }},
      {"slice", [&] { return slice(x, 0, 1, 3); }},
      {"chunk", [&] { return std::move(chunk(x, 2, 1)[0]); }},
      {"concat", [&] { return concat(twice, 0); }},
      {"expand", [&] { return expand(x, wide); }},
      {"flip", [&] { return flip(x, 1); }},
      {"cast", [&] { return cast(x, DType::f32); }},
      {"sum", [&] { return sum(x, last); }},
      {"mean", [&] { return mean(x, last, true); }},
      {"max", [&] { return max(x, 0); }},
      {"softmax", [&] { return softmax(x, 1); }},
      {"cross_entropy", [&] { return cross_entropy(x, targets); }},
      {"embedding", [&] { return embedding(targets, square_matrix); }},
      {"layer_norm", [&] { return layer_norm(x, 1, y, y); }},
      {"layer_norm of a sum", [&] { return layer_norm(x, 1, y, y, 1e-5, x); }},
      {"rms_norm", [&] { return rms_norm(x, y); }},
      {"matmul", [&] { return matmul(x, square_matrix); }},
      {"linear", [&] { return linear(x, square_matrix, y, epilogue); }},
      {"packed_linear", [&] { return packed_linear(x, packed, y, epilogue); }},
      {"einsum", [&] { return einsum(equation, both); }},
      {"spatial_gate", [&] { return spatial_gate(gate, gate, weight, rows, true); }},
      {"fft", [&] { return fft(complex_x, 1); }},
      {"irfft", [&] { return irfft(complex_x, 10, 1); }},
      {"fft2", [&] { return fft2(complex_x, 0, 1); }},
      {"fourier_mix", [&] { return fourier_mix(cube, 1, 2); }},
      {"toeplitz_product", [&] { return toeplitz_product(heads, lags, true, ToeplitzForm::ring); }},
      {"circulant_product", [&] { return circulant_product(cube, x); }},
      {"uniform", [&] { return random.uniform(flat, 0, 1); }},
      {"view", [&] { return x.view(flat, one, 0); }},
      {"zeros", [&] { return Tensor::zeros(flat); }},
      {"convert", [&] { return raw::convert(x, DType::f32); }},
      {"contiguous", [&] { return raw::contiguous(transpose(x, 0, 1)); }},
  };
  for (const auto& each : calls) {
    CAPTURE(each.first);
    const auto run = [&] { (void)each.second(); };
    run();  // creates the plans
    const std::int64_t count = allocations_of(run);
    for (std::int64_t k = 1; k <= count; ++k) (void)runs_out(run, k);
  }
}

TEST_CASE("out of memory in backward: an Error") {
  for (const OpCase& c : all_op_cases()) {
    if (std::none_of(c.inputs.begin(), c.inputs.end(), [](const In& in) { return in.differentiable; })) continue;
    CAPTURE(c.name);
    const std::vector<Tensor> inputs = make_inputs(c);
    const Tensor like = c.run(inputs), cotangent = Tensor::full(like.shape(), 1, like.dtype());
    const auto both = [&] {
      guard_memory("memory of the case's own", [&] {
        Tape tape;
        std::vector<Tensor> leaves;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          leaves.push_back(c.inputs[i].differentiable ? tape.watch(inputs[i]) : inputs[i]);
        const Tensor y = c.run(leaves);
        Gradients gradients;
        tape.backward(y, cotangent, gradients);
      });
    };
    both();
    for (const std::int64_t k : chosen(allocations_of(both), 12, 0)) (void)runs_out(both, k);
  }
}

TEST_CASE("out of memory in a training step: parameters and optimizer are unchanged, and a retry works") {
  for (const std::string optimizer : {"adamw", "adam", "sgd"}) {
    CAPTURE(optimizer);
    const SmallTask small = small_task("gmlp", Task::causal_lm), reference = small_task("gmlp", Task::causal_lm);
    Trainer trainer(*small.model, *small.data, options_of(optimizer));
    Trainer untroubled(*reference.model, *reference.data, options_of(optimizer));
    const NamedParameters parameters = small.model->parameters();
    const std::vector<Tensor> before = copies(parameters);
    const std::int64_t count = allocations_of([&] { (void)untroubled.step(); });
    CHECK(count > 500);
    std::int64_t failed = 0;
    for (const std::int64_t k : chosen(count, 100)) {
      // the step needed no memory, for example because it reused blocks
      if (!runs_out([&] { (void)trainer.step(); }, k)) break;
      ++failed;
      CHECK(trainer.steps_done() == 0);
      if (!same(parameters, before)) FAIL_CHECK("parameters changed at allocation " << k);
    }
    CHECK(failed > 0);
    while (trainer.steps_done() < 3) (void)trainer.step();
    while (untroubled.steps_done() < 3) (void)untroubled.step();
    CHECK(same(parameters, copies(reference.model->parameters())));
  }
}

// Fails only allocations that are too large to be served from memory that the process already has, because JSON trees
// need small allocations to free their memory.
TEST_CASE("out of memory while saving and loading: an Error, and the folder and the trainer are intact") {
  constexpr std::size_t smallest = 1024;
  const TemporaryFolder folder;
  const SmallTask small = small_task("fnet", Task::masked_lm);
  Trainer trainer(*small.model, *small.data, options_of("adamw"));
  const std::string saved = folder / "saved", state = folder / "state";
  const Tokenizer& tokenizer = *small.data->tokenizer();
  save_checkpoint(saved, *small.model, tokenizer);
  trainer.save_state(state);
  const NamedParameters parameters = small.model->parameters();
  const std::vector<Tensor> first = copies(parameters);
  (void)trainer.step();
  for (const bool sustained : {false, true}) {
    CAPTURE(sustained);
    const std::vector<Tensor> now = copies(parameters);
    const auto try_all = [&](const std::function<void()>& body, const std::function<void()>& check) {
      const std::int64_t count = allocations_of(body, smallest);
      CHECK(count > 0);
      for (std::int64_t k = 1; k <= count; ++k) {
        (void)runs_out<Error>(body, k, smallest, sustained);
        check();
      }
    };
    try_all([&] { save_checkpoint(folder / "other", *small.model, tokenizer); }, [&] { CHECK(same(parameters, now)); });
    try_all([&] { trainer.save_state(folder / "other state"); }, [&] { CHECK(same(parameters, now)); });
    try_all([&] { (void)load_checkpoint(saved); },
            [&] { CHECK(same(load_checkpoint(saved).model->parameters(), first)); });
    const auto loads = [&] { trainer.load_state(state); };
    for (std::int64_t k = 1, count = allocations_of(loads, smallest); k <= count; ++k) {
      (void)trainer.step();
      const std::vector<Tensor> before = copies(parameters);
      CHECK(same(parameters, runs_out<Error>(loads, k, smallest, sustained) ? before : first));
    }
  }
  trainer.load_state(state);
  CHECK(same(parameters, first));
}

TEST_CASE("out of memory while saving and loading for other programs: an Error, and the folder is intact") {
  constexpr std::size_t smallest = 1024;
  for (const FormatCase& format : format_cases) {
    CAPTURE(format.format);
    const TemporaryFolder folder;
    const Checkpoint made = format.make(8, 0.1), former = format.make(8, 0.2);
    format.save(folder / "new", made);
    format.save(folder / "out", former);
    const std::string file = "/model.safetensors", whole = folder.read("new" + file),
                      before = folder.read("out" + file);
    const auto loads = [&] { (void)format.load(folder / "new"); };
    const auto saves = [&] { format.save(folder / "out", made); };
    const std::vector<Tensor> first = copies(format.load(folder / "new").model->parameters());
    for (const bool sustained : {false, true}) {
      CAPTURE(sustained);
      std::int64_t failed = 0;
      for (std::int64_t k = 1, count = allocations_of(loads, smallest); k <= count; ++k) {
        failed += runs_out<Error>(loads, k, smallest, sustained);
        CHECK(same(format.load(folder / "new").model->parameters(), first));
      }
      CHECK(failed > 0);
      const std::int64_t count = allocations_of(saves, smallest);
      CHECK(count > 0);
      for (std::int64_t k = 1; k <= count; ++k) {
        format.save(folder / "out", former);
        const bool out = runs_out<Error>(saves, k, smallest, sustained);
        CHECK(folder.read("out" + file) == (out ? before : whole));
      }
    }
  }
}

TEST_CASE("out of memory in a token stream: an Error, and the texts are unchanged") {
  constexpr struct {
    const char *arch, *config;
  } streams[] = {{"gmlp", R"({"d_model":6,"layers":2,"seq_len":6})"},
                 {"tnn", R"({"d_model":6,"layers":2,"rpe_dim":4})"},
                 {"tnn", R"({"d_model":6,"layers":1,"rpe_dim":4,"par_type":2})"}};
  const std::vector<std::int64_t> both{0, 1};
  for (const auto& [arch, config] : streams) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = make_model({arch, Task::causal_lm, 7, 0, config}, {Random(5), DType::f32});
    const auto want = model->stream()->select({0, 0}), stream = model->stream()->select({0, 0});
    // Single steps, a full window, and several tokens in one call. Each is tried with too little memory until there is
    // enough.
    for (const std::int64_t n : {3, 1, 1, 1, 1, 2, 1, 70, 1}) {
      CAPTURE(n);
      const Tensor tokens = random_tensor(indices({2, n}, 7), static_cast<std::uint64_t>(n));
      const Tensor other = Tensor::from<std::int64_t>({5, 6}, {2, 1}), next = want->select(both)->append(other);
      constexpr std::int64_t most = 20000;
      std::int64_t k = 1;
      for (Tensor logits; k < most && runs_out([&] { logits = stream->append(tokens); }, k); k += 5)
        CHECK(same_bits(stream->select(both)->append(other), next));
      CHECK(k > 50);
      REQUIRE(k < most);
      for (k = 1; k < most && runs_out([&] { (void)stream->select(both); }, k); ++k) continue;
      CHECK(k < most);
      (void)want->append(tokens);
      CHECK(same_bits(stream->select(both)->append(other), want->select(both)->append(other)));
    }
  }
}

// A step appends to the windows of its texts one by one, and later passes read these windows.
TEST_CASE("out of memory in a step of gMLP's token stream: none of its tokens remains in a window") {
  const auto model =
      make_model({"gmlp", Task::causal_lm, 7, 0, R"({"d_model":6,"layers":1,"seq_len":6})"}, {Random(5), DType::f32});
  const auto want = model->stream()->select({0, 0}), stream = model->stream()->select({0, 0});
  const Tensor prompt = random_tensor(indices({2, 3}, 7), 1), step = Tensor::from<std::int64_t>({5, 6}, {2, 1});
  for (TokenStream* each : {want.get(), stream.get()}) (void)each->append(prompt);
  for (std::int64_t k = 1; runs_out([&] { (void)stream->append(step); }, k); ++k) continue;
  (void)want->append(step);
  for (const Tensor& next :
       {Tensor::from<std::int64_t>({1, 2}, {2, 1}), Tensor::from<std::int64_t>({3, 4}, {2, 1}), prompt})
    CHECK(same_bits(stream->append(next), want->append(next)));
}

TEST_CASE(
    "out of memory while generating with guesses: the next call goes on with the same symbols and probabilities") {
  for (const char* arch : {"gmlp", "tnn"}) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, Task::causal_lm);
    const auto tokenizer = small.data->tokenizer();
    GenerateOptions options;
    options.tokens = 60;
    options.temperature = 0.3;
    options.log_probabilities = true;
    for (const char letter : std::string("abcdefghijklmnopqrstuvwxyz \n"))
      options.stop.push_back(letter + std::string("#"));  // so that each letter waits for the next one
    const std::string prompt = "line line line li";       // so that there are guesses from the beginning
    Generation exact(*small.model, *tokenizer, prompt, options);
    options.speculate = true;
    Generation guessed(*small.model, *tokenizer, prompt, options);
    while (const auto want = exact.next_symbol()) {
      std::optional<GeneratedSymbol> got;
      for (std::int64_t k = 1; runs_out([&] { got = guessed.next_symbol(); }, k); ++k) continue;
      REQUIRE(got.has_value());
      CHECK(got->id == want->id);
      CHECK(got->text == want->text);
      CHECK(got->log_probability == want->log_probability);
    }
  }
}

TEST_CASE("out of memory while evaluating and generating: an Error") {
  const SmallTask small = small_task("tnn", Task::causal_lm);
  const auto evaluates = [&] { (void)evaluate(*small.model, *small.data); };
  const auto generates = [&] {
    GenerateOptions options;
    options.tokens = 3;
    generate(*small.model, *small.data->tokenizer(), "li", options, [](const std::string&) { return true; });
  };
  for (const std::function<void()>& body : {std::function<void()>(evaluates), std::function<void()>(generates)}) {
    body();
    for (const std::int64_t k : chosen(allocations_of(body), 60)) (void)runs_out(body, k);
  }
}

TEST_CASE("out of memory while classifying and filling gaps: an Error, and the next call succeeds") {
  const TemporaryFolder folder;
  const auto loaded = [&](const char* arch, Task task) {
    const SmallTask small = small_task(arch, task);
    save_checkpoint(folder / arch, *small.model, *small.data->tokenizer());
    return load_checkpoint(folder / arch, Purpose::inference);
  };
  const Classifier classifier(loaded("gmlp", Task::classifier));
  const Checkpoint masked = loaded("fnet", Task::masked_lm);
  const std::vector<std::string> texts = {"red", "green blue", "red"};
  const auto answers = classifier.probabilities(texts);
  const std::string filled = fill_mask(masked, "l[mask]").text;
  const auto one = [&] { (void)classifier.probabilities(texts[1]); };
  const auto several = [&] { (void)classifier.probabilities(texts); };
  const auto fills = [&] { (void)fill_mask(masked, "l[mask]"); };
  for (const std::function<void()>& body :
       {std::function<void()>(one), std::function<void()>(several), std::function<void()>(fills)}) {
    body();
    for (const std::int64_t k : chosen(allocations_of(body), 60)) {
      (void)runs_out(body, k);
      CHECK((classifier.probabilities(texts) == answers));
      CHECK((fill_mask(masked, "l[mask]").text == filled));
    }
  }
}

}  // namespace weft::test
