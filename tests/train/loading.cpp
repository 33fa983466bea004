// Tests of loading for inference, for training and from memory.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "contains.h"
#include "op_table.h"
#include "random_parameters.h"
#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/generate.h"
#include "weft/optimizer.h"
#include "weft/os.h"
#include "weft/parameter_set.h"
#include "weft/safetensors.h"

namespace weft::test {
namespace {

// A model and its checkpoint. The sizes are not multiples of any vector or block.
struct Saved {
  TemporaryFolder folder;
  std::unique_ptr<Model> model;
  std::string path = folder / "saved";
  std::shared_ptr<const Tokenizer> tokenizer = characters("abcdefghijklmnopqrstuvw");

  Saved(const std::string& arch, Task task, std::int64_t d_model = 37) {
    const std::string config = R"({"layers":2,"seq_len":41,"d_model":)" + std::to_string(d_model) + "}";
    const std::int64_t classes = task_source(task) == Source::rows ? 3 : 0;
    model = make_model({arch, task, tokenizer->size(), classes, config}, {Random(3), DType::f32});
    randomize(model->parameters(), 0.5);
    save_checkpoint(path, *model, *tokenizer);
  }

  std::string file() const { return path + "/model.safetensors"; }
  std::shared_ptr<std::string> bytes() const {
    std::ostringstream text;
    text << std::ifstream(file(), std::ios::binary).rdbuf();
    return std::make_shared<std::string>(text.str());
  }
};

Bytes view_of(const std::shared_ptr<std::string>& text) { return {text->data(), text->size(), text, false}; }

Tensor tokens_of(std::int64_t b, std::int64_t n) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < b * n; ++i) ids.push_back(1 + i * 7 % 22);
  return Tensor::from(ids, {b, n});
}

// Computes products of few rows, of many rows, which pack the weights at their second call, and of few rows again,
// which read the packed weights. A stream packs the weights at the ninth call.
std::vector<Tensor> answers(const Model& model) {
  std::vector<Tensor> all;
  for (const auto& [b, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 5}, {2, 41}, {2, 41}, {1, 40}, {1, 1}, {3, 5}})
    all.push_back(model(tokens_of(b, n)));
  if (model.task() == Task::causal_lm) {
    const auto stream = model.stream();
    for (std::int64_t token : {1, 5, 22, 0, 7, 8, 9, 10, 11, 12, 13}) all.push_back(stream->next(token));
  }
  return all;
}

// Returns how many bytes of the file are now in this process's memory through its mapping. The system may keep some
// more bytes around those that were read.
std::int64_t resident_of(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t resident = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) inside = contains(line, path);
    if (inside && line.rfind("Rss:", 0) == 0) resident += std::stoll(line.substr(4)) * 1024;
  }
  return resident;
}

std::int64_t elements_of(const Model& model, const std::string& last_of_name) {
  std::int64_t sum = 0;
  for (const auto& [name, parameter] : model.parameters())
    if (contains(name, last_of_name)) sum += parameter.value().numel();
  return sum;
}

}  // namespace

TEST_CASE("loading: for inference, for training, from memory: the same bits for every architecture and task") {
  for (const std::string& arch : own_architectures)
    for (Task task : architecture(arch).tasks)
      for (const std::int64_t d_model : {37, sweep(256, 64)}) {
        CAPTURE(arch);
        CAPTURE(task_name(task));
        const Saved saved(arch, task, d_model);
        const auto want = answers(*saved.model);
        for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
          const Checkpoint from_file = load_checkpoint(saved.path, purpose);
          check_same(answers(*from_file.model), want);
          for (const auto& [name, parameter] : from_file.model->parameters())
            CHECK(parameter.writable() == (purpose == Purpose::training));
          auto bytes = saved.bytes();
          const Checkpoint kept = load_checkpoint(view_of(bytes), purpose);
          const Checkpoint copied = load_checkpoint({bytes->data(), bytes->size(), nullptr, false}, purpose);
          CHECK(kept.tokenizer->to_json() == saved.tokenizer->to_json());
          CHECK((bytes.use_count() > 1) == (purpose == Purpose::inference));
          if (bytes.use_count() == 1) bytes->assign(bytes->size(), '\xff');
          bytes.reset();
          check_same(answers(*kept.model), want);
          check_same(answers(*copied.model), want);
        }
      }
}

TEST_CASE("loading: without an owner, the bytes may be freed after loading, and they may have any address") {
  const Saved saved("gmlp", Task::causal_lm);
  const auto want = answers(*saved.model);
  for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
    auto bytes = saved.bytes();
    const Checkpoint copied = load_checkpoint({bytes->data(), bytes->size(), nullptr, false}, purpose);
    bytes->assign(bytes->size(), '\xff');
    check_same(answers(*copied.model), want);
    for (const std::size_t shift : {1, 2, 3, 4}) {
      const auto shifted = std::make_shared<std::string>(std::string(shift, ' ') + *saved.bytes());
      const Checkpoint moved =
          load_checkpoint({shifted->data() + shift, shifted->size() - shift, shifted, false}, purpose);
      check_same(answers(*moved.model), want);
    }
  }
}

TEST_CASE("loading: for inference, values remain in the file") {
  const Saved saved("gmlp", Task::causal_lm);
  const auto bytes = saved.bytes();
  const Checkpoint loaded = load_checkpoint(view_of(bytes), Purpose::inference);
  for (const auto& [name, parameter] : loaded.model->parameters()) {
    const char* at = static_cast<const char*>(parameter.value().raw());
    CHECK(at >= bytes->data());
    CHECK(at < bytes->data() + bytes->size());
    CHECK_FALSE(parameter.trainable());
  }
}

TEST_CASE("loading: damaged bytes in memory are refused, and the error has their name") {
  const Saved saved("fnet", Task::classifier);
  const std::string whole = *saved.bytes();
  for (std::size_t cut = 0; cut < whole.size(); cut += 997) {
    const std::string part = whole.substr(0, cut);
    for (const Purpose purpose : {Purpose::training, Purpose::inference})
      CHECK(contains(error_of([&] {
                       (void)load_checkpoint({part.data(), part.size(), nullptr, false}, purpose);
                     }),
                     "\"memory\""));
  }
  CHECK(contains(error_of([&] { (void)load_checkpoint(Bytes{}); }), "too short for a safetensors file"));
}

TEST_CASE("loading: damaged files are refused for inference, too") {
  const Saved saved("tnn", Task::causal_lm);
  const std::string whole = *saved.bytes();
  for (std::size_t cut = 0; cut < whole.size(); cut += 9973) {
    saved.folder.write("cut/model.safetensors", whole.substr(0, cut));
    CHECK(contains(error_of([&] { (void)load_checkpoint(saved.folder / "cut", Purpose::inference); }),
                   "cut/model.safetensors"));
  }
}

TEST_CASE("loading: an error for a parameter with another shape names both shapes") {
  const Saved saved("gmlp", Task::causal_lm);
  const std::string symbols = std::to_string(saved.tokenizer->size());
  const SafetensorsFile file(saved.file());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names())
    tensors.emplace_back(name, name == "embedding.weight" ? transpose(file.load(name), 0, 1) : file.load(name));
  std::filesystem::create_directory(saved.folder / "turned");
  save_safetensors(saved.folder / "turned/model.safetensors", tensors, file.metadata());
  for (const Purpose purpose : {Purpose::training, Purpose::inference})
    CHECK(contains(error_of([&] { (void)load_checkpoint(saved.folder / "turned", purpose); }),
                   "embedding.weight is (37, " + symbols + "), but the config requires (" + symbols + ", 37)"));
}

TEST_CASE("loading: an error for writing, training or saving a model loaded for inference says how to load it") {
  const Saved saved("gmlp", Task::causal_lm);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  const Model& model = *loaded.model;
  NamedParameters parameters = model.parameters();
  const std::string name = parameters.front().first;
  Parameter parameter = parameters.front().second;
  const std::string way = "Purpose::training";
  const auto refused = [&](const std::function<void()>& body, const std::string& who) {
    const std::string message = error_of(body);
    CHECK(contains(message, way));
    CHECK(contains(message, who));
  };
  refused([&] { parameter.assign(Tensor::zeros(parameter.value().shape())); }, "[parameter]");
  refused([&] { parameter.set_trainable(true); }, "[parameter]");
  CHECK_NOTHROW(parameter.set_trainable(false));
  refused([&] { (void)ParameterSet(parameters); }, name);
  refused([&] { (void)Optimizer(parameters, {}); }, name);
  refused([&] { save_checkpoint(saved.folder / "again", model, *loaded.tokenizer); }, "Nothing was written");
  CHECK_FALSE(std::filesystem::exists(saved.folder / "again"));
  refused([&] { (void)copy_parameters(*saved.model, model); }, "[parameter]");
  CHECK_THROWS_AS(Tensor(parameter.value()).mutable_data<float>(), Error);
  check_same(answers(model), answers(*saved.model));
  // Reading is allowed.
  const Checkpoint other = load_checkpoint(saved.path);
  randomize(other.model->parameters(), 0.1);
  CHECK(copy_parameters(model, *other.model).empty());
  check_same(answers(*other.model), answers(model));
}

TEST_CASE("loading: types other than f32 are converted, and are not writable either") {
  const Saved saved("fnet", Task::masked_lm);
  const SafetensorsFile file(saved.file());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, raw::convert(file.load(name), DType::f64));
  std::filesystem::create_directory(saved.folder / "wide");
  save_safetensors(saved.folder / "wide/model.safetensors", tensors, file.metadata());
  const Checkpoint loaded = load_checkpoint(saved.folder / "wide", Purpose::inference);
  check_same(answers(*loaded.model), answers(*saved.model));
  CHECK(contains(error_of([&] { (void)ParameterSet(loaded.model->parameters()); }), "Purpose::training"));
}

TEST_CASE("loading: weights stored in bf16 give the same model as a rounded f32 model") {
  const Saved saved("gmlp", Task::causal_lm);
  const SafetensorsFile file(saved.file());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, raw::convert(file.load(name), DType::bf16));
  std::filesystem::create_directory(saved.folder / "half");
  save_safetensors(saved.folder / "half/model.safetensors", tensors, file.metadata());
  for (auto& named : saved.model->parameters())
    named.second.assign(raw::convert(raw::convert(named.second.value(), DType::bf16), DType::f32));
  const auto want = answers(*saved.model);
  for (Purpose purpose : {Purpose::inference, Purpose::training}) {
    const Checkpoint loaded = load_checkpoint(saved.folder / "half", purpose);
    for (const auto& named : loaded.model->parameters()) CHECK(named.second.value().dtype() == DType::f32);
    check_same(answers(*loaded.model), want);
  }
}

TEST_CASE("loading: for inference, replacing or removing the file has no effect") {
  const Saved saved("gmlp", Task::causal_lm), other("gmlp", Task::causal_lm);
  randomize(other.model->parameters(), 0.01);
  const auto want = answers(*saved.model);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  save_checkpoint(saved.path, *other.model, *other.tokenizer);
  check_same(answers(*loaded.model), want);
  std::filesystem::remove_all(saved.path);
  check_same(answers(*loaded.model), want);
}

TEST_CASE("loading: for training, pages copied from a mapped file are released") {
  const Saved saved("fnet", Task::masked_lm, 512);
  const os::MappedFile file = os::map_file(saved.file());
  const Checkpoint loaded = load_checkpoint({file.data, static_cast<std::size_t>(file.size), file.owner, true});
  CHECK(resident_of(saved.file()) < static_cast<std::int64_t>(file.size) / 4);
  check_same(answers(*loaded.model), answers(*saved.model));
}

TEST_CASE("loading: each weight is in memory only once") {
  const Saved saved("fnet", Task::masked_lm, 512);  // 2 layers of 512 × 2048, twice; two of 512 × 512; a tied table
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(saved.file()));
  std::int64_t linear = 0;  // bytes of the packed weights, except for the output's, which is the embedding's
  for (const char* name : {"proj1.weight", "proj2.weight", "projection.weight", "transform.weight"})
    linear += elements_of(*saved.model, name) * 4;
  REQUIRE(linear > size * 9 / 10);
  Context context;
  const ContextScope scope(context);
  const auto own = [&] { return static_cast<std::int64_t>(context.memory().use().current); };
  {
    const Checkpoint trained = load_checkpoint(saved.path);
    CHECK(own() > size * 9 / 10);
    CHECK(own() < size * 5 / 4);  // size classes need some more
    CHECK(static_cast<std::int64_t>(context.memory().use().peak) == own());
    CHECK(resident_of(saved.file()) == 0);
  }
  context.memory().trim();
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  CHECK(own() == 0);
  (void)(*loaded.model)(tokens_of(1, 5));
  CHECK(own() == 0);  // products of few rows read the weights in the file
  (void)(*loaded.model)(tokens_of(1, 40));
  CHECK(own() == 0);  // the first call reads the weights in the file
  (void)(*loaded.model)(tokens_of(1, 40));
  CHECK(own() >= linear);
  CHECK(own() < linear * 5 / 4);
  // Around later reads, the system maps several pages together, even of weights that were released.
  constexpr std::int64_t around = 64 << 10;
  const auto tensors = static_cast<std::int64_t>(loaded.model->parameters().size());
  for (const std::int64_t n : {40, 1, 5, 16}) {  // now even products of few rows read the packed weights
    (void)(*loaded.model)(tokens_of(1, n));
    CHECK(resident_of(saved.file()) < size - linear + tensors * around);
  }
}

TEST_CASE("loading: several calls with few rows pack the weights, too") {
  const Saved saved("gmlp", Task::causal_lm, 256);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  Context context;
  const ContextScope scope(context);
  const auto own = [&] {
    context.memory().trim();
    return context.memory().use().current;
  };
  for (int call = 0; call < 8; ++call) {
    const Tensor got = (*loaded.model)(tokens_of(1, 3)), want = (*saved.model)(tokens_of(1, 3));
    CHECK(same_bits(got, want));
  }
  CHECK(own() < 100000);  // only the positions
  const Tensor got = (*loaded.model)(tokens_of(1, 3)), want = (*saved.model)(tokens_of(1, 3));
  CHECK(same_bits(got, want));
  CHECK(own() >= static_cast<std::size_t>(elements_of(*saved.model, "proj") * 4));
}

TEST_CASE("loading: memory that can't be released stays unchanged, and holds each weight once") {
  const Saved saved("fnet", Task::masked_lm, 128);
  const auto bytes = saved.bytes();
  const std::string copy = *bytes;
  Context context;
  const ContextScope scope(context);
  for (const bool has_owner : {true, false}) {
    CAPTURE(has_owner);
    const Checkpoint loaded =
        load_checkpoint({bytes->data(), bytes->size(), has_owner ? bytes : nullptr, false}, Purpose::inference);
    const std::size_t before = context.memory().use().current;
    CHECK((before == 0) == has_owner);
    (void)answers(*loaded.model);
    CHECK(context.memory().use().current == before);
    CHECK(*bytes == copy);
  }
}

TEST_CASE("loading: threads share a model that was loaded for inference") {
  const Saved saved("gmlp", Task::causal_lm, sweep(256, 64));
  const auto want = answers(*saved.model);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  std::vector<std::vector<Tensor>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got)
    threads.emplace_back([&mine, &loaded] {
      Context context;
      context.set_threads(1);
      const ContextScope scope(context);
      for (int i = 0; i < 3; ++i) mine = answers(*loaded.model);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) check_same(one, want);
}

TEST_CASE("loading: with another instruction set than that for which the weights were packed") {
  const Saved saved("gmlp", Task::causal_lm, 64);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  for (int turn = 0; turn < 2; ++turn)
    for (const Isa isa : available_isas()) {
      Context context;
      context.set_isa(isa);
      const ContextScope scope(context);
      check_same(answers(*loaded.model), answers(*saved.model));
    }
}

TEST_CASE("loading: no tape accepts the parameters of a model that was loaded for inference") {
  const Saved saved("gmlp", Task::causal_lm);
  const Checkpoint loaded = load_checkpoint(saved.path, Purpose::inference);
  const Tape tape;
  CHECK(Tensor(loaded.model->parameters().front().second).node().tape == 0);
  CHECK((*loaded.model)(tokens_of(2, 20)).node().tape == 0);
}

TEST_CASE("loading: parameters without memory can be assigned, but not written") {
  Init shapes;
  shapes.shapes_only = true;
  Parameter parameter = shapes.normal({5, 3}, 1);
  CHECK_NOTHROW(parameter.assign(Tensor::full({5, 3}, 2)));
  CHECK_THROWS_AS(parameter.assign(Tensor::full({3, 5}, 2)), Error);
  for (const float x : parameter.value().to_vector<float>()) CHECK(x == 0);
  CHECK_THROWS_AS(Tensor(parameter.value()).mutable_data<float>(), Error);
}

}  // namespace weft::test
