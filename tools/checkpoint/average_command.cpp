#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/quantize.h>
#include <weft/run_folder.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <vector>

#include "console/command.h"
#include "console/options.h"
#include "console/out_folder.h"
#include "options/forget_validation.h"

namespace {

using weft::Error;

struct AverageCommand {
  std::vector<std::string> folders;
  std::string out;
  bool overwrite = false;
};

// Prints a line like "book/best: step 1800, validation loss 1.4826".
void print(const std::string& folder, const weft::CheckpointInfo& info) {
  std::cout << folder << ": step " << info.step;
  if (info.validation_loss) std::cout << ", validation loss " << *info.validation_loss;
  std::cout << "\n";
}

// Loads a checkpoint. Throws an Error if it is quantized.
weft::Checkpoint load(const std::string& path) {
  weft::Checkpoint checkpoint = weft::load_checkpoint(path, weft::Purpose::inference);
  if (weft::quantized_to(checkpoint.model->parameters()))
    throw Error("can't average \"" + path + "\", which is quantized: give the original checkpoint");
  return checkpoint;
}

void check_alike(const weft::Checkpoint& first, const weft::Checkpoint& other, const std::string& names) {
  if (weft::model_description(*first.model, *first.tokenizer) !=
      weft::model_description(*other.model, *other.tokenizer))
    throw Error("can't average " + names + ": their architecture, task, config or tokenizer differs");
  if (first.info.labels != other.info.labels) throw Error("can't average " + names + ": their labels differ");
  if (first.info.pad_to != other.info.pad_to)
    throw Error("can't average " + names + ": their rows are padded to different lengths (--pad-to)");
}

// The elements of each parameter, in the order of Model::parameters().
using Values = std::vector<std::vector<double>>;

Values values_of(const weft::Model& model) {
  Values values;
  for (const auto& [name, parameter] : model.parameters())
    values.push_back(weft::raw::convert(parameter.value(), weft::DType::f64).to_vector<double>());
  return values;
}

void add(Values& sums, const Values& values) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    std::transform(sums[i].begin(), sums[i].end(), values[i].begin(), sums[i].begin(), std::plus<>());
}

void assign_mean(const weft::Model& model, Values& sums, double count) {
  std::size_t i = 0;
  for (auto& [name, parameter] : model.parameters()) {
    for (double& sum : sums[i]) sum /= count;
    const weft::Tensor mean = weft::Tensor::from(sums[i++], parameter.value().shape());
    parameter.assign(weft::raw::convert(mean, parameter.value().dtype()));
  }
}

// Computes θ = 1/K Σ_k θ_k. Each element is summed in f64 in the order of the folders.
int average(const AverageCommand& o) {
  if (o.out.empty()) throw UsageError("give --out, the folder that the average is written to");
  if (o.folders.size() < 2)
    throw UsageError("give two checkpoints or more, as in weft average RUN/best RUN/last --out MEAN");
  std::vector<std::string> paths;
  for (const std::string& folder : o.folders) paths.push_back(weft::checkpoint_folder(folder));
  std::vector<std::string> reads = o.folders;
  reads.insert(reads.end(), paths.begin(), paths.end());
  const OutFolder out{"--out", o.out, "averaged", reads, o.overwrite};
  out.check();
  const weft::Checkpoint first = load(paths[0]);
  std::vector<weft::CheckpointInfo> infos = {first.info};
  Values sums = values_of(*first.model);
  weft::Checkpoint mean = weft::load_checkpoint(paths[0]);
  for (std::size_t k = 1; k < paths.size(); ++k) {
    const weft::Checkpoint other = load(paths[k]);
    check_alike(first, other, "\"" + paths[0] + "\" and \"" + paths[k] + "\"");
    add(sums, values_of(*other.model));
    infos.push_back(other.info);
    mean.info.step = std::max(mean.info.step, other.info.step);
  }
  assign_mean(*mean.model, sums, static_cast<double>(paths.size()));
  forget_validation(mean.info);
  out.check();  // again, because another process may have saved a checkpoint there meanwhile
  weft::save_checkpoint(o.out, *mean.model, *mean.tokenizer, mean.info);
  for (std::size_t k = 0; k < paths.size(); ++k) print(paths[k], infos[k]);
  std::cout << "saved in \"" << o.out << "\": the mean of " << paths.size() << " checkpoints, "
            << weft::parameter_count(mean.model->parameters()) << " parameters\n";
  return 0;
}

}  // namespace

Command average_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command =
      weft.add_subcommand("average", "Average checkpoints of one run, which often gives a better model");
  const auto o = std::make_shared<AverageCommand>();
  add_checkpoints(
      *command, "dirs", o->folders,
      "Folders of two or more checkpoints of one model. For the folder of a run, its best checkpoint is used")
      ->expected(CLI::detail::expected_max_vector_size);
  add_text(*command, "--out", "DIR", o->out, "Folder that the average is written to");
  command->add_flag("--overwrite", o->overwrite, "Replace an existing checkpoint");
  command->footer(
      "Examples:\n"
      "  weft average book/best book/last --out mean\n"
      "  weft eval mean --text book.txt\n"
      "Averages each parameter. The average of several checkpoints of one run, saved while its learning\n"
      "rate is high, is often better than each of them (arXiv 1803.05407). Averaging checkpoints of runs\n"
      "with different seeds makes the model worse. weft eval measures the loss of the average.");
  return {command, [o] { return average(*o); }};
}
