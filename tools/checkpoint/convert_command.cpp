#include <weft/checkpoint_format.h>
#include <weft/error.h>
#include <weft/recurrent_tnn.h>
#include <weft/run_folder.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>

#include "console/command.h"
#include "console/options.h"
#include "console/out_folder.h"
#include "console/report.h"
#include "console/visible.h"

namespace {

namespace fs = std::filesystem;

// The value of --to that makes another model, in weft's own format.
const std::string recurrent = "recurrent";
// The error of the fit and the time of a token depend on the number of exponentials. The time of the fit grows with the
// square of the number of lags.
constexpr std::int64_t usual_exponentials = 16, usual_lags = 1024;

struct ConvertCommand {
  std::string from, to = "weft", task, in, out;
  std::optional<std::int64_t> exponentials, lags;  // only with --to recurrent
  bool overwrite = false;

  bool to_recurrent() const { return to == recurrent; }
  std::string format() const { return to_recurrent() ? "weft" : to; }  // of OUT
};

std::string format_of(const ConvertCommand& o) {
  if (!o.from.empty()) return o.from;
  const std::string found = weft::find_checkpoint_format(o.in);
  if (found.empty() && fs::is_directory(o.in) && !fs::exists(o.in + "/model.safetensors") &&
      !fs::exists(o.in + "/config.json"))
    throw weft::Error("\"" + o.in + "\" contains no checkpoint: it has neither model.safetensors nor config.json");
  if (found.empty())
    throw weft::Error("\"" + o.in + "\" doesn't name its format: give --from (" + list(weft::checkpoint_formats()) +
                      ")");
  return found;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cout << "note: " << visible(note) << "\n";
}

// Replaces the checkpoint's model by one with constant time per generated token, and prints the errors of the fit.
void make_recurrent(weft::Checkpoint& checkpoint, const ConvertCommand& o) {
  const std::int64_t exponentials = o.exponentials.value_or(usual_exponentials);
  weft::RecurrentTnn made =
      weft::recurrent_tnn(*checkpoint.model, exponentials, o.lags.value_or(std::max(usual_lags, 4 * exponentials)));
  checkpoint.model = std::move(made.model);
  checkpoint.info.card.validation.clear();  // the metrics of the original
  for (std::size_t i = 0; i < made.errors.size(); ++i)
    std::cout << "layer " << i + 1 << ": relative error of the coefficients " << std::setprecision(2) << made.errors[i]
              << "\n";
}

int convert(const ConvertCommand& o) {
  if (o.in.empty() || o.out.empty()) throw UsageError("give IN, the checkpoint to convert, and OUT, the new folder");
  if (!o.to_recurrent() && (o.exponentials || o.lags))
    throw UsageError("--exponentials and --lags need --to recurrent");
  if (!fs::exists(o.in)) throw weft::Error("IN, \"" + o.in + "\", doesn't exist");
  const OutFolder out{"OUT",       o.out,
                      "converted", {o.in, weft::checkpoint_folder(o.in)},
                      o.overwrite, weft::checkpoint_format(o.format()).files};
  out.check();
  const std::string from = format_of(o);
  weft::LoadOptions options;
  if (!o.task.empty()) options.task = weft::task_from_name(o.task);
  weft::Checkpoint checkpoint = weft::load_checkpoint_as(from, o.in, options);
  if (o.to_recurrent()) make_recurrent(checkpoint, o);
  out.check();  // again, because another process may have saved a checkpoint there meanwhile
  const std::vector<std::string> notes = weft::save_checkpoint_as(o.format(), o.out, checkpoint);
  std::cout << from << " -> " << o.to << ": " << checkpoint.model->arch() << " "
            << weft::task_name(checkpoint.model->task()) << ", "
            << weft::parameter_count(checkpoint.model->parameters()) << " parameters\n";
  print_notes(checkpoint.info.notes);
  print_notes(notes);
  return 0;
}

std::string formats() {
  std::string lines;
  for (const std::string& name : weft::checkpoint_formats())
    lines += "  " + name + ": " + weft::checkpoint_format(name).meaning + "\n";
  return lines;
}

}  // namespace

Command convert_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("convert", "Convert checkpoints to and from the formats of other programs");
  const auto o = std::make_shared<ConvertCommand>();
  const auto check = [](const std::string& name) { (void)weft::checkpoint_format(name); };
  add_text(*command, "--from", "FORMAT", o->from, "Format of IN (default: the format that IN itself names)", check);
  add_text(*command, "--to", "FORMAT", o->to, "Format of OUT", [check](const std::string& name) {
    if (name != recurrent) check(name);
  });
  add_text(*command, "--task", "NAME", o->task, "Task of the model, if IN doesn't name one",
           [](const std::string& name) { (void)weft::task_from_name(name); });
  add_number(*command, "--exponentials", o->exponentials, {1, 2048},
             "With --to recurrent: number of exponentials for each channel", std::to_string(usual_exponentials));
  add_number(*command, "--lags", o->lags, {4, 8192},
             "With --to recurrent: number of coefficients that are fitted, at least 4 for each exponential",
             std::to_string(usual_lags));
  command->add_flag("--overwrite", o->overwrite, "Replace an existing checkpoint");
  add_text(*command, "in", "IN", o->in, "Checkpoint to convert: a folder or a file");
  add_text(*command, "out", "OUT", o->out, "Folder that the converted checkpoint is written to");
  command->footer("Formats:\n" + formats() +
                  "  recurrent: weft's format, only as OUT; the coefficients of a TNN language model become sums of\n"
                  "    exponentials, so that a token takes the same time and memory after a text of any length\n"
                  "A state dict is a file model.safetensors, or the folder that contains the file. For TNNs and for\n"
                  "g-mlp-pytorch's gMLPs, a config.json in the same folder contains the model's arguments.\n"
                  "tools/pt_to_safetensors.py makes both files from .pt and .bin files.\n"
                  "Prints what was left out and what the format of OUT can't represent. The commands classify,\n"
                  "fill-mask, eval and info accept any checkpoint that names its format, without conversion.\n"
                  "Examples:\n"
                  "  weft convert fnet-base fnet\n"
                  "  weft convert news fnet-news --to huggingface-fnet\n"
                  "  weft convert tnn-lm tnn --from fairseq-tnn\n"
                  "  weft convert lm lm-recurrent --to recurrent --exponentials 32");
  return {command, [o] { return convert(*o); }};
}
