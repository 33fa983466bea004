// Little memory: a limit on the process's address space, and files that claim more memory than there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "child.h"
#include "format_cases.h"
#include "op_table.h"
#include "random_parameters.h"
#include "safetensors_bytes.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/checkpoint_format.h"
#include "weft/config.h"
#include "weft/context.h"
#include "weft/generate.h"
#include "weft/gmlp.h"
#include "weft/os.h"
#include "weft/safetensors.h"

// Sanitizers use terabytes of address space and don't release freed memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace weft::test {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

std::size_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
}

std::size_t mappings_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(path) != std::string::npos;
  return count;
}

Tensor tokens(std::int64_t n) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(1 + i * 7 % 22);
  return Tensor::from(ids, {1, n});
}

// Loads a model for inference and runs it, also token by token. Then loads it for training and computes its gradients.
// Returns all results.
std::vector<Tensor> use(const std::string& path, bool copy) {
  std::vector<Tensor> all;
  LoadOptions options = Purpose::inference;
  options.copy = copy;
  const Checkpoint loaded = load_checkpoint(path, options);
  for (const std::int64_t n : {5, 64, 64}) all.push_back((*loaded.model)(tokens(n)));
  const auto stream = loaded.model->stream();
  for (const std::int64_t token : {1, 5, 22}) all.push_back(stream->next(token));
  const Checkpoint trained = load_checkpoint(path);
  Tape tape;
  Gradients gradients;
  for (auto& [name, parameter] : trained.model->parameters()) tape.watch(parameter);
  tape.backward(mean(square((*trained.model)(tokens(64)))), gradients);
  for (const auto& [name, parameter] : trained.model->parameters()) all.push_back(gradients.of(parameter));
  return all;
}

std::string difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return "another number of results";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return "result " + std::to_string(i) + " has other bits";
  return "";
}

}  // namespace

TEST_CASE("faults: little memory: loading and running end in an Error, and later give the same bits as before") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const Task task = usual_task(arch);
    if (task != Task::causal_lm) continue;
    const TemporaryFolder folder;
    const auto tokenizer = characters("abcdefghijklmnopqrstuvw");
    const auto model = make_model({arch, task, tokenizer->size(), 0, R"({"layers":1,"d_model":256,"seq_len":64})"},
                                  {Random(3), DType::f32});
    save_checkpoint(folder / "saved", *model, *tokenizer);
    WEFT_CHECK_IN_CHILD([&](Findings& findings) {
      Context context;
      context.set_threads(1);
      const ContextScope scope(context);
      const std::string path = folder / "saved";
      const std::vector<Tensor> want = use(path, false);
      int errors = 0;
      for (std::size_t room = 64 * megabyte; room >= megabyte / 4; room /= 2)
        for (const bool copy : {false, true}) {
          context.memory().trim();
          const std::size_t before = context.memory().use().current;
          const Limit little(RLIMIT_AS, address_space() + room);
          try {
            findings.expect(difference(use(path, copy), want) == "", "the same bits with little memory");
          } catch (const Error& error) {
            ++errors;
            const std::string what = error.what();
            findings.expect(what.find("memory") != std::string::npos || what.find("allocate") != std::string::npos,
                            what);
          }
          findings.expect(context.memory().use().current == before, "no tensor left");
          findings.expect(mappings_of(path) == 0, "no mapping left");
        }
      findings.expect(errors > 2, "limits that are too small");
      findings.expect(difference(use(path, false), want) == "", "the same bits afterwards");
      findings.expect(difference(use(path, true), want) == "", "the same bits afterwards, copied");
    });
  }
}

TEST_CASE("faults: little memory: other programs' checkpoints are read and written, or give an Error") {
  for (const FormatCase& format : format_cases) {
    CAPTURE(format.format);
    const TemporaryFolder folder;
    const Checkpoint made = format.make(256, 0.1), former = format.make(256, 0.2);
    format.save(folder / "whole", made);
    format.save(folder / "former", former);
    WEFT_CHECK_IN_CHILD([&](Findings& findings) {
      Context context;
      context.set_threads(1);
      const ContextScope scope(context);
      const std::string file = "/model.safetensors";
      const auto run = [&](const LoadOptions& options) {
        return std::vector<Tensor>{(*format.load(folder / "whole", options).model)(tokens(5))};
      };
      const std::vector<Tensor> want = run({});
      const std::string whole = folder.read("whole" + file), before = folder.read("former" + file);
      format.save(folder / "out", former);
      int errors = 0;
      for (std::size_t room = 16 * megabyte; room >= 16 * 1024; room /= 2) {
        context.memory().trim();
        std::string read, written;
        {
          const Limit little(RLIMIT_AS, address_space() + room);
          read = error_of([&] {
            for (const Purpose purpose : {Purpose::training, Purpose::inference})
              findings.expect(difference(run(purpose), want) == "", "the same bits with little memory");
          });
          written = error_of([&] { format.save(folder / "out", made); });
        }
        for (const std::string& error : {read, written}) {
          if (error.empty()) continue;
          ++errors;
          findings.expect(error.find("memory") != std::string::npos || error.find("allocate") != std::string::npos,
                          error);
        }
        findings.expect(mappings_of(folder / "whole") == 0, "no mapping left");
        findings.expect(folder.read("out" + file) == (written.empty() ? whole : before), "old or new");
        format.save(folder / "out", former);
      }
      findings.expect(errors > 2, "limits that are too small");
      findings.expect(difference(run({}), want) == "", "the same bits afterwards");
    });
  }
}

namespace {

std::string deep(int levels, const std::string& in_between = "") {
  std::string text;
  for (int i = 0; i < levels; ++i) text += "{\"a" + in_between + "\":[";
  return text;
}

std::string twice(const std::string& object, const std::string& key) {
  return object.substr(0, object.rfind('}')) + ",\"" + key + "\":1,\"" + key + "\":1}";
}

// A forged file of a folder, and the expected error message.
struct Forgery {
  std::string what, file, text, says;
};

// Damage that any JSON file can have. `whole` is the intact text.
std::vector<Forgery> forgeries_of(const std::string& file, const std::string& whole) {
  const std::string inside = whole.substr(0, whole.rfind('}'));
  return {{"10,000 deep", file, deep(10000), "levels of nesting"},
          {"10,000 deep behind what is whole", file, inside + ",\"more\":" + deep(10000), "levels of nesting"},
          {"a key twice", file, twice(whole, "more"), "twice"},
          {"a key twice, the second with what is whole", file,
           "{\"a\":{\"b\":1,\"b\":2}," + whole.substr(whole.find('{') + 1), "twice"},
          {"a number of terabytes of digits", file, inside + ",\"more\":1" + std::string(100000, '0') + "}", ""},
          {"nothing", file, "", ""},
          {"a list", file, "[]", ""}};
}

// Reads each forgery in a child process with little memory. Expects an Error that names a file of the folder.
void check_refused(const std::vector<Forgery>& forgeries, const std::string& folder,
                   const std::function<void()>& load) {
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    const std::uint64_t before = os::peak_resident_memory();
    const Limit addresses(RLIMIT_AS, address_space() + 400 * megabyte);
    for (const Forgery& forgery : forgeries) {
      const std::string path = folder + "/" + forgery.file;
      std::ifstream in(path, std::ios::binary);
      const std::string whole{std::istreambuf_iterator<char>(in), {}};
      std::ofstream(path, std::ios::binary) << forgery.text;
      const std::string error = error_of(load);
      const std::string which = forgery.file + ", " + forgery.what + ": \"" + error.substr(0, 300) + "\"";
      findings.expect(!error.empty() && error.find(forgery.says) != std::string::npos, which);
      findings.expect(error.find(folder) != std::string::npos, "a name in " + which);
      findings.expect(error.size() < 4096, "a short message in " + which.substr(0, 1000));
      std::ofstream(path, std::ios::binary) << whole;
    }
    findings.expect(error_of(load).empty(), "the whole files load: " + error_of(load));
    const std::uint64_t peak = os::peak_resident_memory() - before;
    findings.expect(peak < 100 * megabyte, std::to_string(peak / megabyte) + " MiB of memory");
  });
}

std::string numbers(std::int64_t a, std::int64_t b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; }

std::string entry(const std::string& shape, std::int64_t begin, std::int64_t end) {
  return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + numbers(begin, end) + "}";
}

}  // namespace

TEST_CASE("faults: little memory: safetensors files that declare more data than they have") {
  const TemporaryFolder folder;
  const std::string data(8, 'a'), terabytes = std::to_string(std::int64_t{1} << 42);
  folder.write("a", file_of("{\"x\":" + entry("[2]", 0, 8) + "}", data));
  std::vector<Forgery> all;
  const auto add = [&](const std::string& what, const std::string& header) {
    all.push_back({what, "a", file_of(header, data), ""});
  };
  add("terabytes", "{\"x\":" + entry("[" + terabytes + "]", 0, std::int64_t{1} << 44) + "}");
  add("terabytes in eight bytes", "{\"x\":" + entry("[" + terabytes + "]", 0, 8) + "}");
  add("a product beyond 2^64", "{\"x\":" + entry("[4294967296,4294967296,4294967296]", 0, 8) + "}");
  add("a million axes", "{\"x\":" + entry("[" + std::string(2000000, '1') + "]", 0, 8) + "}");
  add("negative offsets", "{\"x\":" + entry("[2]", -8, 0) + "}");
  add("overlapping", "{\"x\":" + entry("[2]", 0, 8) + ",\"y\":" + entry("[1]", 4, 8) + "}");
  add("a name twice", "{\"x\":" + entry("[1]", 0, 4) + ",\"x\":" + entry("[1]", 4, 8) + "}");
  add("10,000 deep", deep(10000));
  add("10,000 deep in the metadata", "{\"__metadata__\":" + deep(10000) + ",\"x\":" + entry("[2]", 0, 8) + "}");
  all.push_back({"a header of 2^63 bytes", "a", std::string(8, '\x7f') + "{}", ""});
  check_refused(all, folder / "", [&] {
    const SafetensorsFile file(folder / "a");
    for (const std::string& name : file.names()) (void)file.load(name, Load::copy);
  });
  check_refused(all, folder / "", [&] { (void)SafetensorsFile(folder / "a", Load::copy); });
}

TEST_CASE("faults: little memory: forged configs, labels and tokenizers of a checkpoint") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("fnet", Task::classifier);
  CheckpointInfo info;
  info.labels = {"a", "b", "c"};
  save_checkpoint(folder / "saved", *small.model, *small.data->tokenizer(), info);
  const auto load = [&] { (void)load_checkpoint(folder / "saved", Purpose::inference); };
  check_refused(forgeries_of("saved/config.json", folder.read("saved/config.json")), folder / "", load);

  // The metadata of the file itself, with config, labels and tokenizer.
  const SafetensorsFile file(folder / "saved/model.safetensors");
  const std::string whole = file.metadata().at("weft");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  std::filesystem::remove(folder / "saved/config.json");
  std::vector<Forgery> all;
  const auto add = [&](const std::string& what, const std::string& metadata, const std::string& says) {
    save_safetensors(folder / "forged", tensors, {{"weft", metadata}});
    all.push_back({what, "saved/model.safetensors", folder.read("forged"), says});
  };
  for (const Forgery& forgery : forgeries_of("", whole)) add("metadata, " + forgery.what, forgery.text, forgery.says);
  const auto replaced = [&](const std::string& key, const std::string& value) {
    const std::string name = "\"" + key + "\":";
    const std::size_t at = whole.find(name) + name.size();
    int open = 0;
    std::size_t end = at;
    for (bool inside = false; end < whole.size(); ++end) {
      if (whole[end] == '"' && whole[end - 1] != '\\') inside = !inside;
      if (inside) continue;
      if (open == 0 && (whole[end] == ',' || whole[end] == '}')) break;
      open += (whole[end] == '{' || whole[end] == '[') - (whole[end] == '}' || whole[end] == ']');
    }
    return whole.substr(0, at) + value + whole.substr(end);
  };
  const std::string huge = std::to_string(std::int64_t{1} << 40);
  add("a million labels",
      replaced(
          "labels", "[" +
                        [] {
                          std::string list = "\"l0\"";
                          for (int i = 1; i < 500000; ++i) list += ",\"l" + std::to_string(i) + "\"";
                          return list;
                        }() +
                        "]"),
      "labels");
  add("a label twice", replaced("labels", R"(["a","b","a"])"), "labels");
  add("labels that are none", replaced("labels", R"({"a":1})"), "");
  add("labels 10,000 deep", replaced("labels", deep(10000)), "levels of nesting");
  add("2^40 classes", replaced("classes", huge), "");
  add("a config of terabytes", replaced("config", R"({"d_model":1048576,"layers":1000000,"seq_len":1048576})"), "");
  add("a config with negative sizes", replaced("config", R"({"d_model":-8})"), "");
  add("a config with a key twice", replaced("config", R"({"d_model":16,"d_model":8})"), "twice");
  add("a tokenizer with a key twice", replaced("vocabulary", R"({"unit":"ids","size":1,"size":9})"), "twice");
  add("a tokenizer of 2^40 ids", replaced("vocabulary", R"({"unit":"ids","size":)" + huge + "}"), "");
  add("a tokenizer 10,000 deep", replaced("vocabulary", R"({"unit":"words","symbols":)" + deep(10000)),
      "levels of nesting");
  check_refused(all, folder / "", load);
}

TEST_CASE("faults: little memory: forged files of another program's folder") {
  const TemporaryFolder folder;
  Checkpoint made;
  made.model = make_model({"fnet", Task::classifier, 40, 3, R"({"d_model":8})"}, Init{Random(3)});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})");
  made.info.labels = {"a", "b", "c"};
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", made);
  const auto load = [&] { (void)load_checkpoint(folder / "out", Purpose::inference); };
  const std::string whole = folder.read("out/config.json");
  auto all = forgeries_of("out/config.json", whole);
  const auto replaced = [&](const std::string& key, const std::string& value) {
    const std::size_t at = whole.find("\"" + key + "\": ") + key.size() + 4;
    return whole.substr(0, at) + value + whole.substr(whole.find_first_of(",\n", at));
  };
  for (const char* size : {"hidden_size", "intermediate_size", "num_hidden_layers", "max_position_embeddings",
                           "vocab_size", "type_vocab_size"}) {
    REQUIRE(whole.find(std::string("\"") + size + "\": ") != std::string::npos);
    for (const char* value : {"1099511627776", "-8", "9223372036854775807", "9223372036854775808", "1e30"})
      all.push_back({std::string(size) + " " + value, "out/config.json", replaced(size, value), ""});
  }
  all.push_back({"labels of numbers beyond the classes", "out/config.json",
                 replaced("id2label", R"({"0":"a","1":"b","1099511627776":"c"}, "was": {)"), ""});
  check_refused(all, folder / "", load);

  folder.write("out/spiece.model", "which is read later");
  for (const Forgery& forgery : forgeries_of("", R"({"keep_accents":true})")) {
    if (forgery.says.empty()) continue;
    folder.write("out/tokenizer_config.json", forgery.text);
    const std::string error = error_of(load);
    CHECK_MESSAGE(error.find("tokenizer_config.json\": ") != std::string::npos, error);
    CHECK_MESSAGE(error.find(forgery.says) != std::string::npos, error);
  }
}

TEST_CASE("faults: little memory: forged arguments of a TNN's state dict") {
  for (const FormatCase& format : format_cases) {
    if (format.arch != "tnn") continue;
    CAPTURE(format.format);
    const TemporaryFolder folder;
    format.save(folder / "out", format.make(8, 0.1));
    const std::string whole = folder.read("out/config.json");
    std::vector<Forgery> all = forgeries_of("out/config.json", whole);
    for (const char* key : {"rpe_embedding", "rpe_layers"}) {
      const std::size_t at = whole.find("\"" + std::string(key) + "\": ");
      REQUIRE(at != std::string::npos);
      const std::size_t value = whole.find(": ", at) + 2;
      const std::string rest = whole.substr(whole.find_first_of(",\n", value));
      for (const char* forged : {"1099511627776", "-8", "9223372036854775808", "1e300", "{}"})
        all.push_back({std::string(key) + " " + forged, "out/config.json", whole.substr(0, value) + forged + rest, ""});
    }
    check_refused(all, folder / "", [&] { (void)format.load(folder / "out", Purpose::inference); });
  }
}

// A single file, as `weft tokenizer train` writes it.
TEST_CASE("faults: little memory: forged texts of single tokenizers and configs") {
  for (const char* kind : {"characters", "words", "bytes"}) {
    CAPTURE(kind);
    const std::string whole = learn_tokenizer(kind, small_text())->to_json();
    std::vector<Forgery> all = forgeries_of("", whole);
    WEFT_CHECK_IN_CHILD([&](Findings& findings) {
      const std::uint64_t before = os::peak_resident_memory();
      for (const Forgery& forgery : all)
        if (!forgery.says.empty() || forgery.text.size() < 10) {
          const std::string error = error_of([&] { (void)tokenizer_from_json(forgery.text); });
          findings.expect(error.find(forgery.says) != std::string::npos && !error.empty(), forgery.what + ": " + error);
          const std::string config = error_of([&] { (void)config_from_json<GmlpConfig>("gmlp", forgery.text); });
          findings.expect(!config.empty(), "config, " + forgery.what);
        }
      findings.expect(os::peak_resident_memory() - before < 100 * megabyte, "little memory");
    });
  }
}

}  // namespace weft::test

#endif
