#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/quantize.h>
#include <weft/version.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/visible.h"
#include "options/checkpoint_option.h"
#include "options/model_options.h"
#include "options/recipes.h"

namespace {

struct InfoCommand {
  CheckpointOption checkpoint;
  ModelOptions model;
  std::optional<std::int64_t> vocabulary, classes;
};

void print_parameters(const weft::Model& model) {
  const weft::NamedParameters parameters = model.parameters();
  std::size_t width = 0;
  for (const auto& [name, parameter] : parameters) width = std::max(width, name.size());
  double bytes = 0;
  for (const auto& [name, parameter] : parameters) {
    const weft::Tensor& value = parameter.value();
    for (const weft::Tensor& stored : {value, parameter.scales()})
      if (stored.defined())
        bytes += static_cast<double>(stored.numel()) * static_cast<double>(weft::dtype_size(stored.dtype()));
    const bool packed = value.shape() != parameter.shape();  // two elements in a byte
    std::cout << std::left << std::setw(static_cast<int>(width)) << name << "  "
              << (packed ? "i4" : weft::dtype_name(value.dtype())) << std::right << std::setw(12)
              << weft::numel(parameter.shape()) << "  " << weft::to_string(parameter.shape()) << "\n";
  }
  std::cout << "parameters " << weft::parameter_count(parameters) << "\nsize " << std::fixed << std::setprecision(1)
            << (bytes < 1e5 ? bytes / 1e3 : bytes / 1e6) << (bytes < 1e5 ? " kB\n" : " MB\n");
}

void print_model(const weft::Model& model) {
  std::cout << "architecture " << model.arch() << "\ntask " << weft::task_name(model.task()) << "\nvocabulary "
            << model.vocabulary() << "\noutputs " << model.outputs() << "\nlongest sequence "
            << (model.max_length() > 0 ? std::to_string(model.max_length()) : "any") << "\nconfig " << model.config()
            << "\n";
}

// Prints the fields that --set accepts.
void print_fields(const weft::Architecture& architecture) {
  std::size_t name = 0, usual = 0;
  for (const weft::ConfigField& field : architecture.fields) {
    name = std::max(name, field.name.size());
    usual = std::max(usual, field.usual.size());
  }
  std::cout << "fields, with their defaults\n";
  for (const weft::ConfigField& field : architecture.fields)
    std::cout << "  " << std::left << std::setw(static_cast<int>(name)) << field.name << "  "
              << std::setw(static_cast<int>(usual)) << field.usual << "  " << field.meaning << "\n";
}

void print_card(const weft::ModelCard& card) {
  const auto print = [](const char* name, const std::string& text) {
    if (!text.empty()) std::cout << name << " " << visible(text) << "\n";
  };
  print("license", card.license);
  print("about", card.about);
  print("data", card.data);
  print("settings", card.settings);
  for (const auto& [metric, value] : card.validation)
    std::cout << "validation " << visible(metric) << " " << value << "\n";
}

void print_checkpoint(const std::string& folder) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(folder, weft::Purpose::inference);
  if (!checkpoint.info.format.empty()) std::cout << "format " << checkpoint.info.format << "\n";
  for (const std::string& note : checkpoint.info.notes) std::cout << "note: " << visible(note) << "\n";
  print_model(*checkpoint.model);
  if (checkpoint.info.pairs) std::cout << "reads pairs of texts\n";
  if (checkpoint.info.length > 0) std::cout << "trained on sequences of length " << checkpoint.info.length << "\n";
  std::cout << "step " << checkpoint.info.step << "\n";
  if (checkpoint.info.validation_loss) std::cout << "validation loss " << *checkpoint.info.validation_loss << "\n";
  print_card(checkpoint.info.card);
  if (const auto to = weft::quantized_to(checkpoint.model->parameters()))
    std::cout << "quantized " << weft::quantization_name(*to) << ", for inference\nprecision "
              << weft::precision_name(checkpoint.model->precision()) << "\n";
  print_parameters(*checkpoint.model);
}

void print_names(const char* title, const std::vector<std::string>& names) {
  std::cout << title;
  for (const std::string& name : names) std::cout << " " << name;
  std::cout << "\n";
}

void print_machine() {
  const weft::Context& context = weft::Context::current();
  std::vector<std::string> isas;
  for (weft::Isa isa : weft::available_isas()) isas.emplace_back(weft::isa_name(isa));
  std::cout << "weft " << WEFT_VERSION << "\ninstruction set " << weft::isa_name(context.isa()) << "\n";
  print_names("available", isas);
  std::cout << "threads " << context.threads() << "\n";
  print_names("architectures", weft::architectures());
  print_names("tasks", weft::tasks());
  print_names("recipes", recipe_names());
}

weft::ModelSpec spec_of(const InfoCommand& o) {
  weft::ModelSpec spec = o.model.spec({});
  const bool rows = weft::task_source(spec.task) == weft::Source::rows;
  if (o.classes && !rows)
    throw UsageError(std::string("--classes applies only to tasks on rows, but the task is ") +
                     weft::task_name(spec.task) + ": give --task classifier");
  const bool numbers = spec.input.channels > 0 && !o.vocabulary;
  spec.vocabulary = numbers ? 0 : o.vocabulary.value_or(spec.vocabulary > 0 ? spec.vocabulary : 65);
  spec.classes = o.classes.value_or(spec.classes > 0 ? spec.classes : 2);
  return spec;
}

void print_architecture(const weft::ModelSpec& spec) {
  const auto model = outline(spec);
  print_model(*model);
  print_fields(weft::architecture(spec.arch));
  print_parameters(*model);
}

// Returns the first given option that describes a model, or "" if there is none.
std::string model_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && option->get_group() == ModelOptions::group) return option->get_name();
  return "";
}

int info(const CLI::App& command, const InfoCommand& o) {
  const std::string given = model_option(command);
  if (o.checkpoint.given()) {
    if (!given.empty()) throw UsageError(given + " describes a new model and can't be used with a checkpoint");
    print_checkpoint(o.checkpoint.path());
  } else if (given.empty()) {
    print_machine();
  } else {
    if (o.model.arch.empty() && o.model.recipe.empty() && o.model.config.empty())
      throw UsageError(given + " needs an architecture: give --arch (" + list(weft::architectures()) +
                       "), --recipe or --config");
    print_architecture(spec_of(o));
  }
  return 0;
}

}  // namespace

Command info_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("info", "Show a checkpoint, an architecture's parameters, or this machine");
  const auto o = std::make_shared<InfoCommand>();
  o->checkpoint.add_to(*command);
  o->model.add_to(*command);
  add_number(*command, "--vocabulary", o->vocabulary, {1}, "Number of symbols in the vocabulary", "the recipe's, or 65")
      ->group(ModelOptions::group);
  add_number(*command, "--classes", o->classes, {1},
             "Number of outputs for a task on rows, such as the classes of a classifier", "the recipe's, or 2")
      ->group(ModelOptions::group);
  add_threads(*command);
  command->footer(
      "Examples:\n  weft info book\n"
      "  weft info --arch gmlp --layers 6 --d-model 256\n  weft info");
  return {command, [command, o] { return info(*command, *o); }};
}
