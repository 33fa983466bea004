#include <weft/checkpoint.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/os.h>
#include <weft/quantize.h>
#include <weft/run_folder.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <limits>
#include <vector>

#include "console/command.h"
#include "console/options.h"
#include "console/out_folder.h"
#include "console/report.h"
#include "measure/measured_data.h"
#include "options/checkpoint_option.h"
#include "options/forget_validation.h"
#include "report/run.h"

namespace {

namespace fs = std::filesystem;
using weft::Error;

struct QuantizeCommand {
  CheckpointOption checkpoint;
  MeasuredData data;
  std::string to, out, calibrate;
  bool overwrite = false;
};

std::string file_in(const std::string& folder) { return folder + "/model.safetensors"; }

// Returns the validation data of the checkpoint's run. If they can't be loaded, prints the reason to standard error and
// returns null.
std::unique_ptr<weft::Data> data_of_run(const std::string& source, const weft::Checkpoint& checkpoint) {
  const std::string way = std::string("; to measure the loss before and after quantization, give ") +
                          (weft::task_source(checkpoint.model->task()) == weft::Source::rows ? "--data" : "--text");
  const std::string run = parent_of(source);
  if (!fs::exists(weft::run_path(run))) {
    std::cerr << "\"" << source << "\" doesn't belong to a run, so there are no data to measure" << way << std::endl;
    return nullptr;
  }
  try {
    const std::int64_t all = std::numeric_limits<std::int64_t>::max();
    report::Validation found = report::load_validation(report::read_description(run), run, checkpoint, all);
    if (found.changed)
      std::cerr << "the data of the run \"" << run << "\" have changed since the run began" << std::endl;
    return std::move(found.data);
  } catch (const Error& error) {
    std::cerr << "can't measure the run's own data: " << error.what() << way << std::endl;
    return nullptr;
  }
}

// The number of tokens after which calibration ends. More tokens hardly change the rounding.
constexpr std::int64_t calibration_tokens = 65536;

// Quantizes the model for the inputs in the file o.calibrate, a text or labeled rows.
void quantize_for_inputs(const QuantizeCommand& o, const weft::Checkpoint& checkpoint, const std::string& run) {
  MeasuredData given = o.data;
  const bool rows = weft::task_source(checkpoint.model->task()) == weft::Source::rows;
  given.text = rows ? "" : o.calibrate;
  given.data = rows ? o.calibrate : "";
  given.all = !rows;
  const auto data = given.load(checkpoint, run);
  std::int64_t left = calibration_tokens / std::max<std::int64_t>(1, given.batch * data->length()) + 1;
  weft::quantize(*checkpoint.model, weft::quantization_from_name(o.to),
                 [&] { (void)weft::evaluate(*checkpoint.model, *data, [&] { return left-- == 0; }); });
}

using Row = std::array<std::string, 4>;

std::string as_text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Returns a text like "-75.00 %", or "" if the value was 0 before.
std::string change(double before, double after) {
  return before == 0 ? "" : as_text("%+.2f %%", 100 * (after - before) / before);
}

Row size_row(const std::string& before, const std::string& after) {
  const auto size = [](const std::string& folder) { return static_cast<double>(fs::file_size(file_in(folder))); };
  return {"model.safetensors", as_text("%.2f MB", size(before) / 1e6), as_text("%.2f MB", size(after) / 1e6),
          change(size(before), size(after))};
}

std::vector<Row> measured_rows(const weft::Evaluation& before, const weft::Evaluation& after) {
  std::vector<Row> rows;
  for (const weft::Metric& metric : before.metrics) {
    const double is = after.metric(metric.name);
    weft::Metric now = metric;
    now.value = is;
    rows.push_back({metric.name, metric_text(metric), metric_text(now),
                    metric.is_share ? as_text("%+.2f points", 100 * (is - metric.value)) : change(metric.value, is)});
  }
  if (before.bits_per_byte())
    rows.push_back({"perplexity", as_text("%.4f", before.perplexity()), as_text("%.4f", after.perplexity()),
                    change(before.perplexity(), after.perplexity())});
  rows.push_back({"loss", as_text("%.4f", before.loss), as_text("%.4f", after.loss), change(before.loss, after.loss)});
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::cout << row[0] << std::string(widths[0] - row[0].size(), ' ');
    for (std::size_t i = 1; i < row.size(); ++i)
      std::cout << "  " << std::string(widths[i] - row[i].size(), ' ') << row[i];
    std::cout << "\n";
  }
}

// Counts the rows of quantized matrices whose elements are all 0, so that all their scales are 0. Weight decay reduces the embeddings of symbols that
// never occur in training to 0.
std::int64_t zero_rows(const weft::NamedParameters& parameters) {
  std::int64_t count = 0;
  for (const auto& [name, parameter] : parameters)
    if (parameter.scales().defined()) {
      const auto scales = weft::cast(parameter.scales(), weft::DType::f32).to_vector<float>();
      const auto rows = static_cast<std::size_t>(parameter.shape()[0]), groups = scales.size() / rows;
      for (std::size_t i = 0; i < rows; ++i)
        count += std::all_of(scales.data() + i * groups, scales.data() + (i + 1) * groups,
                             [](float scale) { return scale == 0; });
    }
  return count;
}

int quantize(const QuantizeCommand& o) {
  if (o.to.empty()) throw UsageError("give --to bf16, int8 or int4");
  if (o.out.empty()) throw UsageError("give --out, the folder of the quantized checkpoint");
  if (!o.calibrate.empty() && o.to != "int4") throw UsageError("--calibrate needs --to int4, got --to " + o.to);
  const bool given = o.data.given();
  const std::string source = o.checkpoint.path();
  const OutFolder out{"--out", o.out, "quantized", {o.checkpoint.folder, o.checkpoint.which, source}, o.overwrite};
  out.check();
  const weft::Checkpoint before = o.checkpoint.load();
  if (const auto to = weft::quantized_to(before.model->parameters()))
    throw Error("\"" + source + "\" is already quantized to " + weft::quantization_name(*to) +
                ": give the original checkpoint");
  weft::Checkpoint after = o.checkpoint.load();
  if (o.calibrate.empty()) weft::quantize(*after.model, weft::quantization_from_name(o.to));
  else quantize_for_inputs(o, after, run_of(source));
  const auto data = given ? o.data.load(before, run_of(source)) : data_of_run(source, before);
  std::vector<Row> rows;
  forget_validation(after.info);
  if (data) {
    const weft::Evaluation was = measure(*before.model, *data, source), is = measure(*after.model, *data, o.out);
    rows = measured_rows(was, is);
    if (!given) after.info.validation_loss = is.loss;
  }
  out.check();  // again, because another process may have saved a checkpoint there meanwhile
  weft::save_checkpoint(o.out, *after.model, *after.tokenizer, after.info);
  const weft::NamedParameters parameters = after.model->parameters();
  std::cout << "parameters " << weft::parameter_count(parameters) << "\n";
  if (const std::int64_t zero = zero_rows(parameters); zero > 0) std::cout << "rows of zeros " << zero << "\n";
  rows.insert(rows.begin(), {Row{"", "f32", o.to, "difference"}, size_row(source, o.out)});
  print_table(rows);
  return 0;
}

}  // namespace

Command quantize_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("quantize", "Make a checkpoint two to seven times smaller, for inference");
  const auto o = std::make_shared<QuantizeCommand>();
  o->checkpoint.add_to(*command);
  const auto check = [](const std::string& name) { (void)weft::quantization_from_name(name); };
  add_text(*command, "--to", "bf16|int8|int4", o->to,
           "Type of the weights and embeddings: bf16 (half the size), int8 with one scale for each row of a matrix (a "
           "quarter of the size), or int4 with one scale for 32 elements of a row (a seventh of the size)",
           check);
  add_text(*command, "--calibrate", "FILE|DIR", o->calibrate,
           "With --to int4: typical inputs, a text or labeled rows, such as the training set. The weights are rounded "
           "so that the results of layers change less on the first 65,536 tokens");
  add_text(*command, "--out", "DIR", o->out, "Folder that the quantized checkpoint is written to");
  command->add_flag("--overwrite", o->overwrite, "Replace an existing checkpoint");
  o->data.add_to(*command);
  add_threads(*command);
  command->footer(
      "Prints the size of model.safetensors and the metrics of weft eval, before and after quantization.\n"
      "The metrics before quantization are computed in f32. Those after quantization are computed with\n"
      "activations in bf16, as in classify, generate, fill-mask and eval. The metrics are measured on the\n"
      "given data, or, if none are given, on the run's validation set.\n"
      "The result is for inference only. To continue training, use the original checkpoint, and quantize\n"
      "the result again.\n"
      "Examples:\n"
      "  weft quantize news --to int8 --out news8\n"
      "  weft quantize book --to int4 --calibrate book.txt --out book4\n"
      "  weft quantize book --to bf16 --out book16 --text other.txt");
  return {command, [o] { return quantize(*o); }};
}
