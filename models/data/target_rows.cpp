#include "weft/target_rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hash.h"
#include "base/names.h"
#include "data/labels.h"
#include "data/targets.h"
#include "rows/row_format.h"
#include "weft/detail/float_chars.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

constexpr char between_labels = '|';

// Returns the parts between separators, without blanks around them and without empty parts.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) parts.emplace_back();
    else parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
  return parts;
}

[[noreturn]] void refuse(const std::string& label, const std::string& row, const std::string& expected) {
  throw Error("[rows] the label \"" + label.substr(0, 60) + "\" of the row " + row + ": expected " + expected);
}

const std::string& label_of(const LabeledTexts& rows, std::size_t row) {
  return rows.names[static_cast<std::size_t>(rows.labels[row])];
}

std::vector<float> numbers_of(const std::string& label, const std::string& row) {
  std::vector<float> numbers;
  for (const std::string& part : parts_of(label, ' ')) {
    double value = 0;
    const char* begin = part.data() + (part[0] == '+');
    const auto [end, error] = number_from(begin, part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(static_cast<float>(value)))
      refuse(label, row, "numbers, separated by blanks");
    numbers.push_back(static_cast<float>(value));
  }
  if (numbers.empty()) refuse(label, row, "a number");
  return numbers;
}

std::int64_t index_of(const std::string& name, const TargetKind& kind, const std::string& label,
                      const std::string& row) {
  const auto found = std::find(kind.outputs.begin(), kind.outputs.end(), name);
  if (found == kind.outputs.end()) refuse(label, row, "names that occur in training, got \"" + name + "\"");
  return found - kind.outputs.begin();
}

Tensor target_of(const TargetKind& kind, const std::string& label, const std::string& row) {
  const std::int64_t outputs = std::ssize(kind.outputs);
  if (kind.task == Task::regression) {
    const std::vector<float> numbers = numbers_of(label, row);
    if (std::ssize(numbers) != outputs) refuse(label, row, std::to_string(outputs) + " numbers");
    return Tensor::from(numbers, {outputs});
  }
  if (kind.task == Task::multilabel) {
    std::vector<float> has(kind.outputs.size(), 0);
    for (const std::string& name : parts_of(label, between_labels))
      has[static_cast<std::size_t>(index_of(name, kind, label, row))] = 1;
    return Tensor::from(has, {outputs});
  }
  std::vector<std::int64_t> tags;
  for (const std::string& name : parts_of(label, ' ')) tags.push_back(index_of(name, kind, label, row));
  return Tensor::from(tags, {std::ssize(tags)});
}

// Returns a row with the first `length` symbols of the text and their tags.
Row tagged(const Tokenizer& tokenizer, const LabeledTexts& rows, std::size_t row, const Tensor& tags,
           std::int64_t length) {
  std::vector<std::int64_t> ids = tokenizer.encode(rows.texts[row]);
  if (std::ssize(ids) != tags.size(0) || ids.empty())
    refuse(label_of(rows, row), row_name(rows, row),
           "a tag for each of " + std::to_string(ids.size()) + " words, got " + std::to_string(tags.size(0)));
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(length)));
  const std::int64_t n = std::ssize(ids);
  return {Tensor::from(ids, {n}), {}, slice(tags, 0, 0, n)};
}

RowSet rows_of(const LabeledTexts& texts, const TargetKind& kind, const std::shared_ptr<const Tokenizer>& tokenizer,
               std::int64_t length) {
  const auto rows = std::make_shared<std::vector<Row>>();
  for (std::size_t i = 0; i < texts.texts.size(); ++i) {
    const Tensor target = target_of_row(kind, texts, i);
    if (kind.task == Task::tagging) {
      rows->push_back(tagged(*tokenizer, texts, i, target, length));
    } else {
      const std::vector<std::int64_t> ids = classifier_tokens(*tokenizer, texts.texts[i], length);
      rows->push_back({Tensor::from(ids, {std::ssize(ids)}), {}, target});
    }
  }
  return {std::ssize(*rows), [rows](std::int64_t k) { return (*rows)[static_cast<std::size_t>(k)]; }};
}

std::uint64_t hash_of(const LabeledTexts& rows) {
  BytesHash hash;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    hash.add(rows.texts[i] + '\n');
    hash.add(label_of(rows, i) + '\n');
  }
  return hash.value();
}

}  // namespace

Tensor detail::target_of_row(const TargetKind& kind, const LabeledTexts& rows, std::size_t row) {
  if (kind.task == Task::classifier) return Tensor::full({}, rows.labels[row], DType::i64);
  return target_of(kind, label_of(rows, row), row_name(rows, row));
}

std::vector<std::int64_t> detail::classes_of_rows(const TargetKind& kind, const LabeledTexts& rows) {
  if (kind.task == Task::classifier) return rows.labels;
  std::vector<std::int64_t> classes;
  for (std::size_t i = 0; kind.task == Task::tagging && i < rows.texts.size(); ++i) {
    const auto tags = target_of_row(kind, rows, i).to_vector<std::int64_t>();
    classes.insert(classes.end(), tags.begin(), tags.end());
  }
  return classes;
}

std::string detail::row_name(const LabeledTexts& rows, std::size_t row) {
  if (rows.content() != RowContent::texts) return std::to_string(row + 1);
  std::string beginning = rows.texts[row].substr(0, 60);
  std::replace(beginning.begin(), beginning.end(), pair_separator, '|');
  return "\"" + beginning + "\"";
}

TargetKind find_targets(Task task, const LabeledTexts& rows) {
  TargetKind kind;
  kind.task = task;
  if (task == Task::regression) {
    std::vector<float> all;
    for (std::size_t i = 0; i < rows.texts.size(); ++i) {
      const std::vector<float> numbers = numbers_of(label_of(rows, i), row_name(rows, i));
      const std::size_t outputs = i == 0 ? numbers.size() : all.size() / i;
      if (numbers.size() != outputs)
        refuse(label_of(rows, i), row_name(rows, i), std::to_string(outputs) + " numbers, as in the first row");
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    const std::int64_t count = std::ssize(rows.texts), outputs = count == 0 ? 0 : std::ssize(all) / count;
    for (std::int64_t i = 1; i <= outputs; ++i)
      kind.outputs.push_back(outputs == 1 ? "value" : "value " + std::to_string(i));
    kind.output = output_spec(Tensor::from(all, {count, outputs}));
    return kind;
  }
  if (task == Task::retrieval) return kind;
  if (task == Task::classifier) {
    kind.outputs = rows.names;
    return kind;
  }
  if (task != Task::multilabel && task != Task::tagging)
    throw Error(std::string("[rows] expected a task that learns from labeled rows: classifier, regression, multilabel, "
                            "tagging or retrieval, got ") +
                task_name(task));
  std::set<std::string> names;
  for (const std::string& label : rows.names)
    for (const std::string& name : parts_of(label, task == Task::tagging ? ' ' : between_labels)) names.insert(name);
  kind.outputs.assign(names.begin(), names.end());
  return kind;
}

std::unique_ptr<RowData> target_data(const LabeledTexts& training, const LabeledTexts& validation,
                                     const TargetKind& kind, std::shared_ptr<const Tokenizer> tokenizer,
                                     std::int64_t length, std::int64_t batch, const LearningOptions& learning) {
  return guard_memory("rows", [&] {
    const SpecialIds special = tokenizer->special();
    if (kind.task != Task::tagging && !special.cls)
      throw Error(std::string("[rows] expected a tokenizer with a symbol that begins each row; this tokenizer, ") +
                  tokenizer->kind() + ", was not made for rows");
    check_batch("rows", length, 2, batch);
    RowDataOptions options;
    options.task = kind.task;
    options.outputs = kind.outputs;
    options.output = kind.output;
    options.batch = batch;
    options.length = length;
    options.tokenizer = tokenizer;
    options.pairs = !validation.texts.empty() && is_pair(validation.texts.front());
    options.objective = objective_for(kind.task, kind.outputs, learning, classes_of_rows(kind, training));
    options.name = std::string(task_name(kind.task)) + ", hash " + std::to_string(hash_of(training)) + " " +
                   std::to_string(hash_of(validation)) + describe(learning);
    return std::make_unique<RowData>(rows_of(training, kind, tokenizer, length),
                                     rows_of(validation, kind, tokenizer, length), options);
  });
}

}  // namespace weft
