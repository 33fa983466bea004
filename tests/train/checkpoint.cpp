#include "weft/checkpoint.h"
#include "contains.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/detail/utf8_path.h"
#include "weft/generate.h"
#include "weft/labeled_texts.h"
#include "weft/os.h"
#include "weft/run_folder.h"
#include "weft/safetensors.h"

namespace weft::test {
namespace {

using Json = nlohmann::json;
using Tensors = std::vector<std::pair<std::string, Tensor>>;

std::string load_error(const std::string& folder) {
  try {
    (void)load_checkpoint(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

// Writes a checkpoint's file again with changed metadata or tensors.
void rewrite(const TemporaryFolder& folder, const std::function<void(Json&, Tensors&)>& change) {
  const SafetensorsFile file(folder / "run/model.safetensors");
  Json metadata = Json::parse(file.metadata().at("weft"));
  Tensors tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  change(metadata, tensors);
  std::filesystem::create_directories(folder / "forged");
  save_safetensors(folder / "forged/model.safetensors", tensors, {{"weft", metadata.dump()}});
}

}  // namespace

TEST_CASE("checkpoint: a saved and loaded model gives the same bits") {
  for (const std::string& arch : own_architectures)
    for (Task task : {usual_task(arch), Task::classifier}) {
      CAPTURE(arch);
      const TemporaryFolder folder;
      const SmallTask small = small_task(arch, task);
      CheckpointInfo info;
      info.step = 12;
      info.length = 16;
      info.validation_loss = 1.5;
      save_checkpoint(folder / "new/folder", *small.model, *small.data->tokenizer(), info);
      const Checkpoint loaded = load_checkpoint(folder / "new/folder");
      CHECK(*loaded.tokenizer == *small.data->tokenizer());
      CHECK(loaded.model->config() == small.model->config());
      CHECK(loaded.model->task() == task);
      CHECK(loaded.info.step == 12);
      CHECK(loaded.info.length == 16);
      CHECK(*loaded.info.validation_loss == 1.5);
      const Tensor tokens = small.data->validation(0).tokens;
      CHECK(same_bits((*loaded.model)(tokens), (*small.model)(tokens)));
      CHECK(model_description(*loaded.model, *loaded.tokenizer) ==
            model_description(*small.model, *small.data->tokenizer()));
    }
}

TEST_CASE("checkpoint: runs and rows with names beyond ASCII") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const std::string run = folder / "Läufe, 世界/1";
  { RunFolder(run).begin("{}"); }
  for (const std::string& path : {best_path(run), last_path(run)})
    save_checkpoint(path, *small.model, *small.data->tokenizer());
  CHECK(load_error(checkpoint_folder(run)).empty());
  { RunFolder(run).begin("{}"); }  // sets the run aside, and puts it back at the end
  CHECK(load_error(checkpoint_folder(run, "last")).empty());

  const std::string rows = folder / "Zeilen";
  for (const std::string label : {"Höhe", "世界"}) {
    std::filesystem::create_directories(detail::path_of(rows + "/" + label));
    os::AtomicFile file(rows + "/" + label + "/é.txt");
    file.write("text", 4);
    file.commit();
  }
  CHECK(read_labeled(rows).names == std::vector<std::string>{"Höhe", "世界"});
  CHECK_THROWS_WITH_AS(read_labeled(folder / "é.csv"), doctest::Contains("é.csv"), Error);
}

TEST_CASE("checkpoint: damaged files and files of other programs") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  const std::string model = folder.read("run/model.safetensors"), config = folder.read("run/config.json");
  CHECK(load_error(folder / "run").empty());
  CHECK(contains(load_error(folder / "missing"), "missing/model.safetensors"));
  for (std::size_t cut = 0; cut < model.size(); cut += 997) {
    folder.write("cut/model.safetensors", model.substr(0, cut));
    CHECK(contains(load_error(folder / "cut"), "cut/model.safetensors"));
  }
  folder.write("run/config.json", config.substr(0, config.size() / 2));
  CHECK(contains(load_error(folder / "run"), "run/config.json\" is damaged"));
  folder.write("run/config.json", replaced(config, "\"gmlp\"", "\"tnn\""));
  CHECK(contains(load_error(folder / "run"), "belongs to a different model"));
  folder.write("run/config.json", replaced(config, "\"step\": 0", "\"step\": 7"));
  CHECK(load_error(folder / "run").empty());  // as if the process had stopped between writing the two files
  std::filesystem::remove(folder / "run/config.json");
  CHECK(load_error(folder / "run").empty());
}

TEST_CASE("checkpoint: forged metadata and tensors") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  const auto error = [&](const std::function<void(Json&, Tensors&)>& change) {
    rewrite(folder, change);
    const std::string message = load_error(folder / "forged");
    if (!message.empty()) CHECK(contains(message, "forged/model.safetensors\""));
    return message;
  };
  CHECK(error([](Json&, Tensors&) {}).empty());
  CHECK(contains(error([](Json& j, Tensors&) { j["version"] = 2; }), "has format version 2"));
  CHECK(contains(error([](Json& j, Tensors&) { j["arch"] = "rnn"; }), "unknown architecture \"rnn\""));
  CHECK(contains(error([](Json& j, Tensors&) {
                   j["task"] = "classifier";
                   j["classes"] = 2;
                 }),
                 "the config requires"));
  CHECK(contains(error([](Json& j, Tensors&) { j["arch"] = "fnet"; }), "[fnet]"));
  CHECK(contains(error([](Json& j, Tensors&) { j["config"]["colour"] = 1; }), "unknown config key \"colour\""));
  CHECK(contains(error([](Json& j, Tensors&) { j["config"]["d_ffn"] = 32; }), "the config requires"));
  CHECK(contains(error([](Json& j, Tensors&) { j["config"]["layers"] = 1; }), "the config does not require"));
  CHECK(contains(error([](Json& j, Tensors&) { j["config"]["d_model"] = -1; }), "d_model"));
  CHECK(contains(error([](Json& j, Tensors&) { j["vocabulary"]["characters"] = "ab"; }), "the config requires"));
  CHECK(contains(error([](Json& j, Tensors&) { j.erase("step"); }), "metadata are damaged"));
  CHECK(contains(error([](Json& j, Tensors&) { j["task"] = 7; }), "metadata are damaged"));
  CHECK(contains(error([](Json& j, Tensors&) { j["card"] = "CC0"; }), "expected an object as the value of \"card\""));
  CHECK(contains(error([](Json& j, Tensors&) { j["card"] = {{"license", 7}}; }), "\"license\" has the wrong type"));
  CHECK(contains(error([](Json& j, Tensors&) { j["card"] = {{"settings", "{}"}}; }), "the value of \"settings\""));
  CHECK(contains(error([](Json& j, Tensors&) {
                   j["card"] = {{"validation", {{"mae", "1"}}}};
                 }),
                 "\"mae\" has the wrong type"));
  CHECK(contains(error([](Json& j, Tensors&) { j["step"] = 1e300; }), "\"step\" has the wrong type"));
  CHECK(
      contains(error([](Json& j, Tensors&) { j["vocabulary"]["unit"] = 1; }), "[tokenizer] the tokenizer is damaged"));
  CHECK(contains(error([](Json&, Tensors& t) { t.back().first = "other"; }), "no tensors for these parameters"));
  CHECK(contains(error([](Json&, Tensors& t) { t.pop_back(); }), "only 0 more parameters"));
  CHECK(contains(error([](Json&, Tensors& t) { t.emplace_back("more", t[0].second); }),
                 "tensors that the config does not require: more"));
  const auto to_integers = [](Json&, Tensors& t) { t[0].second = Tensor::zeros(t[0].second.shape(), DType::i64); };
  CHECK(contains(error(to_integers), "expected f32"));
  CHECK(contains(error([](Json& j, Tensors&) { j["length"] = -3; }), "expected a step and a length"));
  const std::string deep(3000000, '[');
  save_safetensors(folder / "forged/model.safetensors", {{"x", Tensor::zeros({2})}}, {{"weft", deep}});
  CHECK(contains(load_error(folder / "forged"), "at most 16 levels of nesting"));
  save_safetensors(folder / "forged/model.safetensors", {{"x", Tensor::zeros({2})}});
  CHECK(contains(load_error(folder / "forged"), "is not a checkpoint in weft's format"));
}

TEST_CASE("checkpoint: a classifier's labels and the length of its rows") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::classifier);
  CheckpointInfo info;
  info.length = 16;
  info.labels = {"Sport", "Börse", "x y"};
  info.pad_to = 12;
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer(), info);
  const Checkpoint saved = load_checkpoint(folder / "run");
  CHECK(saved.info.labels == info.labels);
  CHECK(saved.info.pad_to == 12);
  // An earlier version stored no labels, so labels are numbers, and rows are padded to the length.
  rewrite(folder, [](Json& j, Tensors&) {
    j.erase("labels");
    j.erase("pad_to");
  });
  const Checkpoint old = load_checkpoint(folder / "forged");
  CHECK(old.info.labels == std::vector<std::string>{"1", "2", "3"});
  CHECK(old.info.pad_to == 16);
  const auto error = [&](const std::function<void(Json&, Tensors&)>& change) {
    rewrite(folder, change);
    return load_error(folder / "forged");
  };
  CHECK(contains(error([](Json& j, Tensors&) { j["labels"] = {"a", "b"}; }), "expected 3 distinct labels, got 2"));
  CHECK(contains(error([](Json& j, Tensors&) { j["labels"] = {"a", "b", "a"}; }), "expected 3 distinct labels"));
  CHECK(contains(error([](Json& j, Tensors&) { j["labels"] = {1, 2, 3}; }), "metadata are damaged"));
  CHECK(contains(error([](Json& j, Tensors&) { j["pad_to"] = -1; }), "expected pad_to of at least 0"));
  CHECK(contains(error([](Json& j, Tensors&) { j["pad_to"] = "x"; }), "\"pad_to\" has the wrong type"));
  // config.json has another model's label names.
  std::string config = folder.read("run/config.json");
  folder.write("run/config.json", replaced(config, "Sport", "Sports"));
  CHECK(contains(load_error(folder / "run"), "belongs to a different model"));
  info.labels = {"a"};
  CHECK_THROWS_WITH(save_checkpoint(folder / "none", *small.model, *small.data->tokenizer(), info),
                    "[checkpoint] expected 3 distinct labels, got 1");
  CHECK_FALSE(std::filesystem::exists(folder / "none/model.safetensors"));
}

TEST_CASE("checkpoint: forged sizes don't allocate memory") {
  const TemporaryFolder folder;
  const auto error = [&](const Json& config) {
    rewrite(folder, [&](Json& j, Tensors&) { j["config"].update(config); });
    Context context;  // its memory use starts at 0
    const ContextScope scope(context);
    const std::string message = load_error(folder / "forged");
    CHECK(context.memory().use().peak < 1e6);
    return message;
  };
  for (const std::string& arch : own_architectures) {
    const SmallTask small = small_task(arch, usual_task(arch));
    save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
    for (const char* config : {R"({"layers":1000000000})", R"({"d_model":20000})"})
      CHECK(contains(error(Json::parse(config)), "the config requires"));
    if (small.model->max_length() > 0)  // otherwise no parameter depends on the length
      CHECK(contains(error({{"seq_len", 20000}}), "the config requires"));
    CHECK(contains(error({{"seq_len", std::int64_t{1} << 32}}), "seq_len"));
  }
  // Without layers, no parameter of gMLP depends on its length.
  const auto model = make_model({"gmlp", Task::causal_lm, 2, 0, R"({"d_model":4,"layers":0})"}, {});
  save_checkpoint(folder / "run", *model, *characters("a"));
  for (bool positions : {false, true})
    CHECK(error({{"seq_len", (std::int64_t{1} << 31) - 1}, {"positions", positions}}).empty());
  const Checkpoint loaded = load_checkpoint(folder / "forged");
  const Tensor tokens = Tensor::from<std::int64_t>({0, 1, 1}, {1, 3});
  CHECK(same_bits((*loaded.model)(tokens), (*model)(tokens)));
}

TEST_CASE("checkpoint: another model's config.json does not stay next to new parameters, and an unwritable folder") {
  const TemporaryFolder folder;
  const SmallTask lm = small_task("gmlp", Task::causal_lm), masked = small_task("fnet", Task::masked_lm);
  save_checkpoint(folder / "run", *lm.model, *lm.data->tokenizer());
  save_checkpoint(folder / "run", *masked.model, *masked.data->tokenizer());
  CHECK(load_checkpoint(folder / "run").model->arch() == std::string("fnet"));
  folder.write("file", "x");
  CHECK_THROWS_AS(save_checkpoint(folder / "file", *lm.model, *lm.data->tokenizer()), Error);
  CHECK_THROWS_AS(save_checkpoint(folder / "file/below", *lm.model, *lm.data->tokenizer()), Error);
  CHECK(folder.read("file") == "x");
}

#ifdef __linux__
TEST_CASE("checkpoint: another model's config.json is removed before anything is written") {
  const TemporaryFolder folder;
  const SmallTask lm = small_task("gmlp", Task::causal_lm);
  std::filesystem::create_directory(folder / "run");
  std::filesystem::create_symlink("/proc/self/limits", folder / "run/config.json");  // writing to it fails
  try {
    save_checkpoint(folder / "run", *lm.model, *lm.data->tokenizer());
  } catch (const Error&) {  // as if the process had stopped between writing the two files
  }
  CHECK(load_error(folder / "run").empty());
}
#endif

TEST_CASE("generate: the requested number of symbols, the same for the same seed, beyond the model's length") {
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const auto text = [&](const std::string& prompt, std::uint64_t seed, std::int64_t tokens) {
    GenerateOptions options;
    options.tokens = tokens;
    options.seed = seed;
    std::string all;
    std::int64_t count = 0;
    generate(*small.model, *small.data->tokenizer(), prompt, options, [&](const std::string& s) {
      ++count;
      all += s;
      return true;
    });
    CHECK(count == tokens);
    return all;
  };
  CHECK(text("line", 1, 40) == text("line", 1, 40));
  CHECK(text("line", 1, 40) != text("line", 2, 40));
  CHECK(text("", 1, 5) == text("\n", 1, 5));
  CHECK(text("line", 1, 0).empty());
  CHECK_THROWS_AS(text("LINE\xFF", 1, 5), Error);
  int calls = 0;
  generate(*small.model, *small.data->tokenizer(), "l", {}, [&](const std::string&) { return ++calls < 3; });
  CHECK(calls == 3);
}

TEST_CASE("sample: from the most likely symbols whose probabilities sum to top_p") {
  const Tensor x = Tensor::from<float>({0, std::log(2.0f), -100, std::log(5.0f)}, {4});  // 1/8, 2/8, 0, 5/8
  CHECK(sample(x, 1, 0, 0.999, 0.6) == 3);
  CHECK(sample(x, 1, 0, 0.999, 0.7) == 1);
  CHECK(sample(x, 1, 0, 5.0 / 7 - 0.01, 0.7) == 3);  // 5/7 and 2/7
  CHECK(sample(x, 1, 0, 5.0 / 7 + 0.01, 0.7) == 1);
  CHECK(sample(x, 1, 0, 0.999, 0.9) == 0);
  CHECK(sample(x, 1, 2, 0.999, 0.9) == 1);
  CHECK(sample(x, 1, 2, 0.999, 0.7) == 3);  // among these two, 5/7 is enough
  CHECK(sample(x, 1, 0, 0.999, 1e-9) == 3);
  CHECK(sample(x, 0.5, 0, 0.999, 0.8) == 3);
}

TEST_CASE("generate: special symbols are never chosen, and texts that end it") {
  const auto tokenizer = characters("ab");  // and [unk]
  const auto model = make_model({"gmlp", Task::causal_lm, 3, 0, R"({"d_model":8,"seq_len":16})"}, {Random(3)});
  GenerateOptions options;
  options.tokens = 200;
  const auto text = [&](const std::vector<std::string>& stop, std::int64_t* count = nullptr) {
    std::string all;
    options.stop = stop;
    const std::int64_t symbols = generate(*model, *tokenizer, "zb", options, [&](const std::string& s) {
      all += s;
      return true;
    });
    if (count != nullptr) *count = symbols;
    return all;
  };
  std::int64_t count = 0;
  const std::string all = text({}, &count);
  CHECK(count == 200);
  CHECK(all.size() == 200);
  CHECK(all.find_first_not_of("ab") == std::string::npos);
  for (const std::string stop : {"a", "bb", "aab", "abab", "babba"}) {
    CAPTURE(stop);
    const std::size_t found = all.find(stop);
    REQUIRE(found != std::string::npos);
    CHECK(text({stop}, &count) == all.substr(0, found));
    CHECK(count == static_cast<std::int64_t>(found + stop.size()));
    CHECK(text({"xyz", stop}) == all.substr(0, found));
  }
  CHECK(text({"abx", "x"}, &count) == all);  // the text to stop at never occurs, so text that waited for it is returned
  CHECK(count == 200);
  const std::string end = all.substr(195) + "x";
  CHECK(text({end}) == all);
  CHECK(text({"bb", "a"}) == all.substr(0, std::min(all.find("bb"), all.find("a"))));
  CHECK_THROWS_WITH(text({""}), "[generate] a stop text is empty");
  for (double p : {0.0, -1.0, 1.1, std::nan("")}) {
    options.top_p = p;
    CHECK_THROWS_WITH(text({}), doctest::Contains("expected top_p above 0 and at most 1"));
  }
  options.top_p = 1;
  CHECK_THROWS_WITH(generate(*model, *characters("abc"), "a", options, [](const auto&) { return true; }),
                    "[generate] the tokenizer has 4 symbols, but the model has 3: the two do not belong together");
}

TEST_CASE("generate: words include the text between them") {
  const auto tokenizer = words({"one two"});
  const auto model =
      make_model({"gmlp", Task::causal_lm, tokenizer->size(), 0, R"({"d_model":8,"seq_len":16})"}, {Random(3)});
  GenerateOptions options;
  options.tokens = 3;
  std::string all;
  generate(*model, *tokenizer, "one", options, [&](const std::string& s) {
    all += s;
    return true;
  });
  CHECK(all.size() == 12);
  CHECK(all[0] == ' ');
  CHECK(tokenizer->decode(tokenizer->encode(all)) == all.substr(1));
}

TEST_CASE("generate: an empty prompt is replaced by a line break, whatever its id, or by the first symbol") {
  const auto text = [](const std::shared_ptr<const Tokenizer>& tokenizer, const std::string& prompt) {
    const auto model = make_model({"gmlp", Task::causal_lm, tokenizer->size(), 0, R"({"d_model":8,"seq_len":16})"},
                                  {Random(3), DType::f32});
    randomize(model->parameters());
    std::string all;
    GenerateOptions options;
    options.tokens = 30;
    generate(*model, *tokenizer, prompt, options, [&](const std::string& s) {
      all += s;
      return true;
    });
    return all;
  };
  const auto with = characters("\t\nabc"), without = characters("abc");
  CHECK(text(with, "") == text(with, "\n"));
  CHECK(text(with, "") != text(with, "\t"));
  CHECK(text(without, "") == text(without, "a"));
  CHECK(text(without, "") != text(without, "b"));
}

TEST_CASE("generate: classifiers and masked language models are refused") {
  for (const SmallTask& small : {small_task("gmlp", Task::classifier), small_task("fnet", Task::masked_lm)})
    CHECK_THROWS_AS(generate(*small.model, *small.data->tokenizer(), "a", {}, [](const auto&) { return true; }), Error);
}

}  // namespace weft::test
