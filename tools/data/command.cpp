// weft data: writes the rows or pictures of generated tasks to files.
#include "console/command.h"

#include <weft/error.h>
#include <weft/labeled_texts.h>
#include <weft/os.h>

#include <iostream>
#include <unordered_set>

#include "console/help.h"
#include "console/options.h"
#include "console/progress.h"
#include "data/hash.h"
#include "data/news.h"
#include "data/output.h"
#include "data/pathfinder.h"
#include "data/task.h"

namespace data {
namespace {

using weft::Error;

struct Options {
  std::string out, check;
  std::int64_t train = 96000, validation = 2000, test = 2000;
  std::uint64_t seed = 1;
  bool overwrite = false;
};

// Makes distinct rows. Tries the streams of the seed in order, and skips a stream that makes no valid row, or a row
// that occurred before. Rows with equal hashes count as equal.
class Rows {
 public:
  Rows(const GeneratedTask& task, std::uint64_t seed) : task_(task), random_(seed) {}

  const Row& next() {
    constexpr std::uint64_t most = 10'000'000;
    for (std::uint64_t tries = 0; tries < most; ++tries)
      if (task_.make(random_.split(tried_++), row_) && seen_.insert(hash_of(row_.text)).second) return row_;
    throw Error("[data] no new row in " + std::to_string(most) + " tries after " + std::to_string(seen_.size()) +
                " rows: these options allow too few distinct rows");
  }

 private:
  const GeneratedTask& task_;
  weft::Random random_;
  std::uint64_t tried_ = 0;
  std::unordered_set<std::uint64_t> seen_;
  Row row_;
};

// Writes `count` rows with the columns of the Long Range Arena's files.
void write_rows(weft::os::AtomicFile& file, Rows& rows, std::int64_t count, Count& shown) {
  std::string buffer = "Source\tTarget\n";
  for (std::int64_t i = 0; i < count && stopped_by() == 0; ++i) {
    const Row& row = rows.next();
    buffer += row.text + "\t" + row.label + "\n";
    shown.next();
    if (buffer.size() < std::size_t{1} << 20 && i + 1 < count) continue;
    file.write(buffer.data(), buffer.size());
    buffer.clear();
  }
}

struct Part {
  const char* name;
  std::int64_t rows;
};

int generate(const Options& o, const GeneratedTask& task) {
  if (o.out.empty())
    throw UsageError("give --out, the folder that train.tsv, validation.tsv and test.tsv are written to");
  task.check();
  const Part parts[] = {{"train", o.train}, {"validation", o.validation}, {"test", o.test}};
  const auto path_of = [&](const Part& part) { return o.out + "/" + part.name + ".tsv"; };
  prepare_folder(o.out, {path_of(parts[0]), path_of(parts[1]), path_of(parts[2])}, o.overwrite);
  catch_signals();
  Rows rows(task, o.seed);
  Count shown("row", o.train + o.validation + o.test);
  std::vector<std::unique_ptr<weft::os::AtomicFile>> files;
  for (const Part& part : parts) {
    files.push_back(std::make_unique<weft::os::AtomicFile>(path_of(part)));
    write_rows(*files.back(), rows, part.rows, shown);
    files.back()->sync();
  }
  shown.clear();
  if (stopped_by() != 0) return exit_stopped();
  for (const auto& file : files) file->commit();
  std::cerr << task.description() << std::endl;
  for (const Part& part : parts) std::cout << path_of(part) << " " << part.rows << "\n";
  return 0;
}

// Compares each label of a file with the correct label of its text.
int check(const Options& o, const GeneratedTask& task) {
  const weft::LabeledTexts rows = weft::read_labeled(o.check);
  std::int64_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::string& label = rows.names[static_cast<std::size_t>(rows.labels[i])];
    const std::string where =
        "\"" + o.check + "\": row " + std::to_string(i + 1) + ", not counting the header and rows without a text: ";
    try {
      const std::string answer = task.answer(rows.texts[i]);
      if (answer == label) continue;
      if (wrong++ == 0) first = where + "expected the label " + answer + ", got " + label;
    } catch (const Error& error) {
      throw Error(where + error.what());
    }
  }
  std::cout << "rows " << rows.texts.size() << "\nagree " << std::ssize(rows.texts) - wrong << "\n";
  if (wrong > 0) throw Error(first);
  return 0;
}

void add_kind(CLI::App& command, const TaskKind& kind, std::shared_ptr<GeneratedTask> task,
              std::shared_ptr<Options> o) {
  CLI::App* sub = command.add_subcommand(kind.name, kind.title);
  add_text(*sub, "--out", "FOLDER", o->out, "Folder that train.tsv, validation.tsv and test.tsv are written to");
  add_number(*sub, "--train", o->train, {1}, "Number of rows in train.tsv; no row occurs twice in the three files");
  add_number(*sub, "--validation", o->validation, {1}, "Number of rows in validation.tsv");
  add_number(*sub, "--test", o->test, {1}, "Number of rows in test.tsv");
  add_number(*sub, "--seed", o->seed, {0},
             "Seed of the rows; the same seed and options give the same bytes on every machine");
  task->add_to(*sub);
  sub->add_flag("--overwrite", o->overwrite, "Replace existing files in --out");
  auto* check = add_text(*sub, "--check", "FILE", o->check, "Check the labels in this file, and write nothing");
  for (CLI::Option* option : sub->get_options())  // all other options are for generating rows
    if (option != check && option != sub->get_help_ptr()) check->excludes(option);
  sub->footer(help_paragraph(kind.meaning) + "\nExample:\n  weft data " + kind.name + " --out " + kind.name);
}

}  // namespace
}  // namespace data

Command data_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("data", "Write labeled data: package descriptions, or a generated task");
  command->require_subcommand(1);
  const auto o = std::make_shared<data::Options>();
  std::vector<std::pair<std::string, std::shared_ptr<data::GeneratedTask>>> tasks;
  // Add a new task here.
  for (const data::TaskKind& kind : {data::listops_kind(), data::recall_kind()}) {
    tasks.emplace_back(kind.name, kind.make());
    data::add_kind(*command, kind, tasks.back().second, o);
  }
  const std::function<int()> news = data::add_news(*command), pathfinder = data::add_pathfinder(*command);
  command->footer(
      "Examples:\n  weft data news --out news.csv\n  weft data listops --out listops\n"
      "  weft data pathfinder --out pathfinder");
  return {command, [command, tasks, news, pathfinder, o] {
            if (command->got_subcommand("news")) return news();
            if (command->got_subcommand("pathfinder")) return pathfinder();
            for (const auto& task : tasks)
              if (command->got_subcommand(task.first))
                return o->check.empty() ? data::generate(*o, *task.second) : data::check(*o, *task.second);
            return 2;
          }};
}
