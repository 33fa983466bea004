#include <weft/checkpoint.h>
#include <weft/classifier.h>
#include <weft/error.h>
#include <weft/fnet.h>
#include <weft/os.h>
#include <weft/quantize.h>
#include <weft/tnn.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>

#include "console/command.h"
#include "console/options.h"
#include "console/out_folder.h"
#include "options/checkpoint_option.h"
#include "options/forget_validation.h"
#include "page/engine_file.h"
#include "page/page.h"
#include "report/learned.h"

namespace {

namespace fs = std::filesystem;
using weft::Error;

struct PageCommand {
  CheckpointOption checkpoint;
  std::string out, title, engine;
  bool overwrite = false;
};

// A new folder next to a file, for temporary files. The destructor removes it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& file) {
    std::random_device random;
    do {
      path_ = fs::absolute(file).parent_path() / ("weft-page-" + std::to_string(random()));
    } while (!fs::create_directory(path_));
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

// Throws an Error unless a page can run the model.
void check_model(const weft::Checkpoint& checkpoint) {
  const std::string kind = checkpoint.tokenizer->kind();
  for (const char* missing : {"unigram", "bpe", "sentencepiece", "fnet"})
    if (kind == missing)
      throw Error("the model's tokenizer is \"" + kind + "\", and a page has no SentencePiece, which it needs");
  const weft::Task task = checkpoint.model->task();
  if (task == weft::Task::causal_lm) return;
  if (task != weft::Task::classifier)
    throw Error(std::string("expected a classifier of texts or a causal language model, got a model for the task ") +
                weft::task_name(task));
  if (const std::string why = weft::Classifier::why_not(checkpoint); !why.empty()) throw Error(why);
  if (checkpoint.info.pairs) throw Error("the model classifies pairs of texts, but a page has one text only");
}

// Returns the bytes of the checkpoint's model.safetensors, quantized to int8.
std::string quantized(const PageCommand& o, weft::Checkpoint& checkpoint) {
  if (weft::quantized_to(checkpoint.model->parameters()))
    return weft::os::read_file(o.checkpoint.path() + "/model.safetensors");
  weft::quantize(*checkpoint.model, weft::Quantization::int8);
  forget_validation(checkpoint.info);
  const TemporaryFolder folder(o.out);
  weft::save_checkpoint(folder.path(), *checkpoint.model, *checkpoint.tokenizer, checkpoint.info);
  return weft::os::read_file(folder.path() + "/model.safetensors");
}

// Returns the first and the last symbol of each row of a classifier, the maximum length of a row, and the length to which
// rows are padded.
report::Json row_of(const weft::Checkpoint& checkpoint) {
  const weft::SpecialIds special = checkpoint.tokenizer->special();
  const auto name = [&](const std::optional<std::int64_t>& id) {
    return id ? report::Json(checkpoint.tokenizer->decode(*id)) : report::Json(nullptr);
  };
  return {{"first", name(special.cls)},
          {"last", name(special.sep)},
          {"length", checkpoint.info.length},
          {"pad_to", checkpoint.info.pad_to}};
}

// Returns how the layers mix the first tokens of a text, for mixing.js. Returns null if there are no layers, or if their
// weights change with the length of the text.
report::Json mixing_of(const weft::Checkpoint& checkpoint) {
  constexpr std::int64_t tokens = 32;
  const weft::Model& model = *checkpoint.model;
  report::Json mixing;
  if (const auto* fnet = dynamic_cast<const weft::Fnet*>(&model)) {
    if (fnet->encoder().layers.empty()) return nullptr;
    mixing = {{"kind", "fourier"}, {"length", tokens}};
  } else {
    const auto* tnn = dynamic_cast<const weft::Tnn*>(&model);
    if (tnn != nullptr && !tnn->layers().empty() &&
        tnn->layers().front().token_mixer().toep().options().depends_on_length())
      return nullptr;
    mixing = report::learned_weights(model, tokens);
    if (mixing.is_null() || mixing["layers"].empty()) return nullptr;
    const bool gating = mixing["kind"] == "gating";
    for (const char* unused : {"distances", "lags", "gamma", "channels", "unit"}) mixing.erase(unused);
    for (report::Json& layer : mixing["layers"])
      layer = {{gating ? "matrix" : "rms", layer[gating ? "matrix" : "rms"]}};
  }
  if (model.task() == weft::Task::classifier) mixing["row"] = row_of(checkpoint);
  return mixing;
}

// Throws an Error if --out can't be written, or if it is an existing file that is not such a page.
void check_out(const PageCommand& o) {
  if (o.out.empty()) throw UsageError("give --out, the file of the page");
  if (fs::is_directory(o.out)) throw Error("--out names the folder \"" + o.out + "\", expected a file");
  if (o.overwrite || !fs::exists(o.out)) return;
  if (!fs::is_regular_file(o.out) || !page::is_page(weft::os::read_file(o.out)))
    throw Error("\"" + o.out + "\" already exists and is not a page of weft: --overwrite replaces it");
}

// Returns the name of the run's or checkpoint's folder.
std::string name_of(const PageCommand& o) {
  const std::string folder = o.checkpoint.folder.empty() ? o.checkpoint.path() : o.checkpoint.folder;
  std::error_code error;
  const fs::path path = fs::weakly_canonical(folder, error);
  return (error ? fs::path(folder) : path).filename().string();
}

int write_page(const PageCommand& o) {
  check_out(o);
  page::Contents contents;
  contents.engine = page::read_engine(o.engine);
  weft::Checkpoint checkpoint = o.checkpoint.load();
  check_model(checkpoint);
  contents.title = o.title.empty() ? name_of(o) : o.title;
  contents.kind = checkpoint.model->task() == weft::Task::classifier ? "A classifier of texts" : "A language model";
  contents.mixing = mixing_of(checkpoint);
  contents.model = quantized(o, checkpoint);
  const std::string html = page::make_page(contents);
  weft::os::AtomicFile file(o.out);
  file.write(html.data(), html.size());
  file.commit();
  std::cout << "page " << o.out << "\n";
  return 0;
}

}  // namespace

Command page_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("page", "Write a web page that runs a model in the browser");
  const auto o = std::make_shared<PageCommand>();
  o->checkpoint.add_to(*command);
  add_text(*command, "--out", "FILE", o->out, "File that the page is written to; an existing page is replaced");
  add_text(*command, "--title", "TEXT", o->title, "Title of the page (default: the name of the model's folder)");
  add_text(*command, "--engine", "FILE", o->engine,
           "weft-page.wasm.gz, which the build for WebAssembly makes (default: the one that is installed with weft)");
  command->add_flag("--overwrite", o->overwrite, "Replace the file, even if the file is not such a page");
  command->footer(
      "Examples:\n"
      "  weft page packages --out packages.html\n"
      "  weft page book --out book.html --title \"A play\"\n"
      "The page is a single file and needs no server and no network. The model must be a classifier of\n"
      "texts or a causal language model. It is quantized to int8, unless it is already quantized. A text\n"
      "after # in the page's address is classified or continued at once.");
  return {command, [o] { return write_page(*o); }};
}
