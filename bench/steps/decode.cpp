// weft-decode-bench: times a gMLP or TNN language model that generates single tokens, or reads a prompt. Compares a
// token's time with the time to read the bytes that the token needs, and a prompt's time with a forward pass.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/arguments.h"
#include "machine/isa_cap.h"
#include "machine/machine.h"
#include "machine/sampled.h"
#include "machine/timing.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/os.h"
#include "weft/quantize.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct Options : CommonOptions {
  std::string model = "small", precision = "f32", weights = "file", json_file;
  std::int64_t batch = 1, context = 256, guesses = 0, tokens = 64, repeat = 8;
  double gamma = 1;  // the TNN's decay
  bool prompt = false;
};

// The sizes of the models. "small" and "tnn" have the 65 characters of the original experiments, "large" has bytes.
// d_mixed is the number of channels that are mixed over the tokens: d_ffn / 2 of a gMLP, d1 of a TNN.
struct Size {
  const char *name, *arch;
  std::int64_t d_model, d_mixed, layers;
  std::size_t symbols;
};
constexpr Size sizes[] = {{"tiny", "gmlp", 128, 256, 4, 65},     {"small", "gmlp", 512, 1024, 6, 65},
                          {"large", "gmlp", 768, 2304, 18, 256}, {"tiny-tnn", "tnn", 128, 384, 4, 65},
                          {"small-tnn", "tnn", 256, 768, 6, 65}, {"tnn", "tnn", 512, 1536, 7, 65}};

const Size& size_of(const std::string& name) {
  for (const Size& size : sizes)
    if (name == size.name) return size;
  throw Error("expected tiny, small, large, tiny-tnn, small-tnn or tnn, got " + name);
}

bool is_tnn(const Size& size) { return std::string(size.arch) == "tnn"; }

std::shared_ptr<const Tokenizer> tokenizer_of(std::size_t symbols) {
  if (symbols == 256) return learn_tokenizer("bytes", std::string());
  std::string text;
  for (std::size_t i = 0; i < symbols; ++i) text += static_cast<char>('0' + i);
  TokenizerOptions options;
  options.task = Task::causal_lm;
  return learn_tokenizer("characters", text, options);
}

std::unique_ptr<Model> made_model(const Options& o, const Tokenizer& tokenizer) {
  const Size& size = size_of(o.model);
  json config = {{"d_model", size.d_model}, {"layers", size.layers}, {"seq_len", o.context + o.tokens + o.guesses + 1}};
  if (is_tnn(size))
    config.update({{"rpe_dim", 64},
                   {"rpe_layers", 6},
                   {"glu_dim", size.d_model},
                   {"norm_type", "simplermsnorm"},
                   {"gamma", o.gamma}});
  else config["d_ffn"] = 2 * size.d_mixed;
  return make_model({size.arch, Task::causal_lm, tokenizer.size(), 0, config.dump()},
                    Init{Random(1), DType::f32, nullptr});
}

// A new folder that is removed with this object.
struct TemporaryFolder {
  TemporaryFolder() {
    if (mkdtemp(path.data()) == nullptr) throw Error("cannot create the folder " + path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path = (std::filesystem::temp_directory_path() / "weft-decode-XXXXXX").string();
};

// Makes the model as a training program does, or loads it from a checkpoint for inference.
std::unique_ptr<Model> model_of(const Options& o) {
  const auto tokenizer = tokenizer_of(size_of(o.model).symbols);
  std::unique_ptr<Model> model = made_model(o, *tokenizer);
  if (o.precision == "int8") quantize(*model, Quantization::int8);
  if (o.precision == "int4") quantize(*model, Quantization::int4);
  if (o.weights == "file") {
    const TemporaryFolder folder;
    save_checkpoint(folder.path, *model, *tokenizer);
    model.reset();
    model = load_checkpoint(folder.path, Purpose::inference).model;  // the mapped files stay readable
  }
  model->set_precision(o.precision == "f32" ? Precision::f32 : Precision::bf16);
  return model;
}

// The bytes that a token at position `context` needs: the weights, in the form that the precision stores, and the
// history of each text. A TNN reads only the last 64 to 128 tokens, because the products of earlier tokens are already
// summed.
double bytes_of_token(const Options& o, const NamedParameters& parameters) {
  const Size& size = size_of(o.model);
  const double weight = o.precision == "int4"   ? 4.5 / 8  // with the scales of the groups
                        : o.precision == "int8" ? 1
                        : o.precision == "bf16" ? 2
                                                : 4;
  const double kept = o.precision == "f32" ? 4 : 2;
  double bytes = 0;
  for (const auto& [name, parameter] : parameters) {
    const Tensor& value = parameter.value();
    if (name == "embedding.weight") bytes += 4.0 * static_cast<double>(o.batch * size.d_model);
    else if (name.ends_with("sgu.weight")) bytes += 4.0 * static_cast<double>(o.context);
    else if (name.find(".toep.") != std::string::npos) continue;  // used for coefficients, not read for every token
    else bytes += (value.rank() == 2 ? weight : 4) * static_cast<double>(numel(parameter.shape()));
  }
  if (is_tnn(size)) {  // the last 64 to 128 tokens and as many coefficients
    const double rows = static_cast<double>(std::min<std::int64_t>(o.context, 96) * (o.batch + 1));
    return bytes + 4 * rows * static_cast<double>(size.layers * size.d_mixed);
  }
  return bytes + kept * static_cast<double>(o.batch * size.layers * o.context * size.d_mixed);
}

Tensor tokens_of(std::uint64_t seed, std::int64_t texts, std::int64_t n, std::int64_t vocabulary) {
  const Random random(seed);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < texts * n; ++i)
    ids.push_back(
        static_cast<std::int64_t>(random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(vocabulary)));
  return Tensor::from(ids, {texts, n});
}

double microseconds_of(const std::function<void()>& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

constexpr std::int64_t group = 8;

struct Times {
  std::vector<double> token, read;  // µs
  Samples samples{};                // of additional tokens
};

// Runs f `count` times. The first time does not count, because the caches still hold the data of the other function.
void time_group(std::int64_t count, std::vector<double>* times, const std::function<void()>& f) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double time = microseconds_of(f);
    if (times && i > 0) times->push_back(time);
  }
}

// Times tokens around the requested context, in turn with reading. Each round starts from the same context.
Times measure(const Options& o, const Model& model, double bytes) {
  const auto numbers = static_cast<std::int64_t>(bytes / 4);
  const Tensor block = Tensor::zeros({numbers});
  const Work read = read_work([&] { return block.data<float>(); }, numbers, o.threads);
  // Without the 3, blocks of the online Toeplitz product would always end at the first token of a group, which is not
  // timed.
  const std::int64_t before = std::max<std::int64_t>(1, o.context - o.tokens / 2 - 3);
  const Tensor prompt = tokens_of(2, 1, before, model.vocabulary());
  const Tensor ids = tokens_of(3, o.batch, 1 + o.guesses, model.vocabulary());
  const auto step = [&](TokenStream& stream) {
    if (o.guesses == 0) return (void)stream.append(ids);
    const std::int64_t count = std::min(1 + o.guesses, stream.most_at_once());
    (void)stream.append_each(slice(ids, 1, 0, count));
    stream.take_back(count - 1);
  };
  Times times;
  Context::current().parallel_region([&] {
    const auto text = model.stream();
    (void)text->append(prompt);
    for (std::int64_t round = 0; round <= o.repeat; ++round) {  // the first round packs the weights and does not count
      const auto stream = text->select(std::vector<std::int64_t>(static_cast<std::size_t>(o.batch), 0));
      for (std::int64_t done = 0; done < o.tokens; done += group) {
        const std::int64_t count = std::min(group, o.tokens - done);
        time_group(count, round > 0 ? &times.token : nullptr, [&] { step(*stream); });
        time_group(count, round > 0 ? &times.read : nullptr, read.run);
      }
    }
    const auto stream = text->select(std::vector<std::int64_t>(static_cast<std::size_t>(o.batch), 0));
    const auto run = [&] {
      for (std::int64_t i = 0; i < o.tokens; ++i) step(*stream);
    };
    times.samples = sample(run, 0);
  });
  return times;
}

// Times a stream that reads a prompt of `context` tokens, in turn with two forward passes over the same tokens. For the
// first of them the length is new, so a TNN computes its coefficients; the second one uses them again.
json report_prompt(const Options& o) {
  const std::unique_ptr<Model> model = model_of(o);
  const Tensor prompt = tokens_of(2, 1, o.context, model->vocabulary());
  const Tensor shorter = slice(prompt, 1, 0, o.context - 1);
  std::vector<double> stream_times, new_times, forward_times;
  const NoGrad suspended;
  for (std::int64_t round = 0; round <= o.repeat; ++round) {  // the first round packs the weights and does not count
    const double stream = microseconds_of([&] { (void)model->stream()->append(prompt); });
    const double of_new_length = microseconds_of([&] { (void)(*model)(prompt); });
    const double forward = microseconds_of([&] { (void)(*model)(prompt); });
    (void)(*model)(shorter);
    if (round == 0) continue;
    stream_times.push_back(stream);
    new_times.push_back(of_new_length);
    forward_times.push_back(forward);
  }
  const double stream = median_of(stream_times), forward = median_of(forward_times);
  const double of_new_length = median_of(new_times);
  return {{"model", o.model},
          {"precision", o.precision},
          {"threads", o.threads},
          {"context", o.context},
          {"cpu", cpu_name()},
          {"isa", isa_name(Context::current().isa())},
          {"prompt_us", stream},
          {"forward_us", forward},
          {"forward_new_length_us", of_new_length},
          {"tokens_per_second", static_cast<double>(o.context) / stream * 1e6},
          {"speed", forward / stream},
          {"speed_new_length", of_new_length / stream}};
}

void print_prompt(const json& r) {
  const auto number = [&r](const char* key, double factor = 1) { return factor * r[key].get<double>(); };
  char line[400];
  std::snprintf(
      line, sizeof line,
      "%s, %s, %s, %d threads: a prompt of %d tokens takes %.1f ms (%.0f tokens/s), %.2f times the speed of a "
      "forward pass of a new length (%.1f ms), and %.2f times that of a repeated length (%.1f ms)",
      r["model"].get<std::string>().c_str(), r["precision"].get<std::string>().c_str(),
      r["isa"].get<std::string>().c_str(), r["threads"].get<int>(), r["context"].get<int>(), number("prompt_us", 1e-3),
      number("tokens_per_second"), number("speed_new_length"), number("forward_new_length_us", 1e-3), number("speed"),
      number("forward_us", 1e-3));
  std::cout << line << std::endl;
}

double least(const std::vector<double>& x) { return *std::min_element(x.begin(), x.end()); }

json report(const Options& o) {
  const std::unique_ptr<Model> model = model_of(o);
  const double bytes = bytes_of_token(o, model->parameters());
  const Times times = measure(o, *model, bytes);
  const double token = median_of(times.token), read = median_of(times.read);
  return {{"model", o.model},
          {"parameters", parameter_count(model->parameters())},
          {"precision", o.precision},
          {"weights", o.weights},
          {"threads", o.threads},
          {"batch", o.batch},
          {"context", o.context},
          {"guesses", o.guesses},
          {"cpu", cpu_name()},
          {"isa", isa_name(Context::current().isa())},
          {"ran", shares(times.samples)},
          {"bytes", bytes},
          {"token_us", token},
          {"read_us", read},
          {"read_gbs", bytes / read * 1e-3},
          {"tokens_per_second", static_cast<double>(o.batch) / token * 1e6},
          {"share", read / token},
          {"beyond_us", token - read},
          {"least_token_us", least(times.token)},
          {"worst_token_us", *std::max_element(times.token.begin(), times.token.end())},
          {"peak_bytes", os::peak_resident_memory()},
          {"least_read_us", least(times.read)}};
}

void print(const json& r) {
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  char line[500];
  std::snprintf(
      line, sizeof line,
      "%s, %s, %s (ran %s), weights %s, %d threads, batch %d, %d guesses, context %d: %.0f tokens/s, %.0f us per step; "
      "reading %.1f MB at %.1f GB/s takes %.0f us: %.0f %% of the step, which takes %.0f us longer (minimum of a "
      "step %.0f us, of reading %.0f us; slowest step %.0f us); peak memory %.2f GB",
      r["model"].get<std::string>().c_str(), r["precision"].get<std::string>().c_str(),
      r["isa"].get<std::string>().c_str(), r["ran"].get<std::string>().c_str(), r["weights"].get<std::string>().c_str(),
      r["threads"].get<int>(), r["batch"].get<int>(), r["guesses"].get<int>(), r["context"].get<int>(),
      number("tokens_per_second"), number("token_us"), number("bytes") * 1e-6, number("read_gbs"), number("read_us"),
      100 * number("share"), number("beyond_us"), number("least_token_us"), number("least_read_us"),
      number("worst_token_us"), number("peak_bytes") * 1e-9);
  std::cout << line << std::endl;
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("--model", o.model,
                 "tiny (gMLP 4 x 128/512), small (gMLP 6 x 512/2048, 9.9 M), large (gMLP 18 x 768/4608, 100 M), "
                 "tiny-tnn (TNN 4 x 128), small-tnn (TNN 6 x 256) or tnn (TNN 7 x 512)")
      ->capture_default_str()
      ->check(CLI::IsMember({"tiny", "small", "large", "tiny-tnn", "small-tnn", "tnn"}));
  add_precision(app, o.precision, "quantized weights, bf16 activations", {"int8", "int4"});
  add_common_options(app, o);
  app.add_option("--weights", o.weights,
                 "file: weights of a checkpoint that is loaded for inference; own: weights of a trainable model")
      ->capture_default_str()
      ->check(CLI::IsMember({"file", "own"}));
  auto* batch = app.add_option("--batch", o.batch, "Number of texts generated at the same time")
                    ->capture_default_str()
                    ->check(CLI::Range(1, 1024));
  app.add_option("--context", o.context, "Position of the timed tokens in the text")
      ->capture_default_str()
      ->check(CLI::Range(64, 1 << 20));
  auto* guesses =
      app.add_option("--guesses", o.guesses,
                     "Number of guessed tokens that each step checks in addition to its token, and takes back. At "
                     "some positions, a TNN can take back fewer")
          ->capture_default_str()
          ->check(CLI::Range(0, 7))
          ->excludes(batch);
  app.add_flag("--prompt", o.prompt, "Time the reading of a prompt of --context tokens instead of single tokens")
      ->excludes(batch)
      ->excludes(guesses);
  app.add_option("--gamma", o.gamma,
                 "Decay of the TNN's coefficients; with 1 there is no decay, so all earlier tokens count")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--tokens", o.tokens, "Timed tokens per round, half of them before the position of --context")
      ->capture_default_str()
      ->check(CLI::Range(2, 64));
  app.add_option("--repeat", o.repeat, "Number of timed rounds, after one untimed round")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--json", o.json_file, "Write all results to this file")->type_name("FILE");
  app.footer(
      "Prints the median time of a step, which appends one token to each text. Compares it with the time of a loop in\n"
      "the same run that reads as many bytes (weights and histories) with the same threads. Prints the ratio and the\n"
      "difference of the two times. \"ran\" says which share of the step's vector instructions belongs to which\n"
      "instruction set, according to samples of one thread.\n"
      "Examples:\n"
      "  weft-decode-bench --model large --precision bf16 --threads 2 --batch 8 --context 256\n"
      "  weft-decode-bench --model small-tnn --context 131072 --threads 1\n"
      "  weft-decode-bench --model large --guesses 3\n"
      "  weft-decode-bench --model large --isa avx2 --prompt --context 1024");
}

int run(int argc, char** argv) {
  CLI::App app("Times single tokens or the prompt of a gMLP or TNN language model.", "weft-decode-bench");
  Options o;
  add_options(app, o);
  if (const auto code = parse(app, argc, argv)) return *code;
  cap_isa(o.isa, argv);
  Context::current().set_threads(o.threads);
  const json result = o.prompt ? report_prompt(o) : report(o);
  if (o.prompt) print_prompt(result);
  else print(result);
  if (!o.json_file.empty() && !(std::ofstream(o.json_file) << result << std::endl))
    throw Error("cannot write " + o.json_file);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::main_of("weft-decode-bench", weft::bench::run, argc, argv); }
