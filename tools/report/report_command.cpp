#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "console/command.h"
#include "console/options.h"
#include "report/page.h"
#include "report/run.h"

namespace {

using weft::Error;

struct ReportCommand {
  std::vector<std::string> folders;
  std::string out, title;
  report::RunOptions run;
  bool overwrite = false;
};

std::filesystem::path canonical(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : found;
}

// Whether the file is somewhere in the folder.
bool is_inside(const std::string& file, const std::string& folder) {
  const auto path = canonical(file), root = canonical(folder);
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// Throws an Error if --out can't be written, or if it is an existing file that is not a report and may be valuable.
void check_out(const std::string& out, const ReportCommand& o) {
  for (const std::string& folder : o.folders)
    if (is_inside(out, folder) && std::filesystem::path(out).extension() != ".html")
      throw Error("--out names \"" + out + "\", which is in the run's folder: give a name that ends with .html");
  if (std::filesystem::is_directory(out)) throw Error("--out names the folder \"" + out + "\", expected a file");
  if (o.overwrite || !std::filesystem::exists(out)) return;
  if (!std::filesystem::is_regular_file(out) || !report::is_page(weft::os::read_file(out)))
    throw Error("\"" + out + "\" already exists and is not a report: --overwrite replaces it");
}

void check_folders(const std::vector<std::string>& folders) {
  if (folders.empty()) throw UsageError("give the folders of one or more runs");
  for (auto folder = folders.begin(); folder != folders.end(); ++folder) {
    report::check_run(*folder);
    const auto same = [&](const std::string& other) { return canonical(other) == canonical(*folder); };
    if (std::any_of(folders.begin(), folder, same)) throw Error("the run \"" + *folder + "\" is given twice");
  }
}

// Returns "a, b, c", or "a, b, c and 5 more".
std::string title_of(const std::vector<std::string>& names) {
  const std::size_t named = names.size() > 4 ? 3 : names.size();
  std::string title;
  for (std::size_t i = 0; i < named; ++i) title += (i == 0 ? "" : ", ") + names[i];
  return title + (named < names.size() ? " and " + std::to_string(names.size() - named) + " more" : "");
}

int write_report(const ReportCommand& o) {
  check_folders(o.folders);
  const std::string out = o.out.empty() ? o.folders.front() + "/report.html" : o.out;
  check_out(out, o);
  const std::vector<std::string> names = report::run_names(o.folders);
  const std::string title = o.title.empty() ? title_of(names) : o.title;
  report::Json data{{"title", title}, {"runs", report::Json::array()}};
  for (std::size_t i = 0; i < names.size(); ++i)
    data["runs"].push_back(report::read_run(o.folders[i], names[i], o.run));
  const std::string html = report::page(title, data);
  weft::os::AtomicFile file(out);
  file.write(html.data(), html.size());
  file.commit();
  std::cout << "report " << out << "\n";
  return 0;
}

}  // namespace

Command report_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("report", "Write a web page that shows one or more runs");
  const auto o = std::make_shared<ReportCommand>();
  add_texts(*command, "dirs", "FOLDER", o->folders, "Folders of finished or unfinished runs")
      ->expected(CLI::detail::expected_max_vector_size);
  add_text(
      *command, "--out", "FILE", o->out,
      "File that the page is written to; an existing report is replaced (default: report.html in the first folder)");
  add_text(*command, "--title", "TEXT", o->title, "Title of the page (default: the runs' names)");
  add_number(*command, "--tokens", o->run.sample.tokens, {1}, "Number of symbols in a language model's sample");
  add_number(*command, "--seed", o->run.sample.seed, {0}, "Random seed of the sample");
  add_number(*command, "--rows", o->run.sample.rows, {1},
             "Maximum number of rows of the validation set whose predictions are shown");
  command->add_flag("--curves-only", o->run.curves_only,
                    "Show only the curves; load no model, and show no samples, predictions or weights");
  command->add_flag("--overwrite", o->overwrite, "Replace the file, even if the file is not a report");
  add_threads(*command);
  command->footer(
      "Examples:\n"
      "  weft report book\n"
      "  weft report book book2 letters --out compared.html --title \"Three runs\"\n"
      "The page is a single file and needs no network.");
  return {command, [o] { return write_report(*o); }};
}
