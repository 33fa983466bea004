// Makes rows from package records in the format of deb822(5). The label is the package's Section ("games" or
// "universe/games"). The text is its Description, with lines and paragraphs joined.
#include "data/news.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <unordered_set>

#include "answer/predictions.h"
#include "console/command.h"
#include "console/help.h"
#include "console/options.h"
#include "console/report.h"
#include "console/same_file.h"
#include "data/hash.h"

namespace data {
namespace {

using weft::Error;
namespace fs = std::filesystem;

// The sections that describe what a package is for. The other sections describe its form (libs, doc) or its programming
// language (perl, rust).
const std::vector<std::string> topics{"admin",    "database", "editors", "electronics", "fonts", "games",
                                      "graphics", "mail",     "math",    "sound",       "video", "web"};
const char* const installed = "/var/lib/dpkg/status";
constexpr std::size_t fewest = 20;  // minimum number of rows of a label

struct Options {
  std::string out, test, from;
  std::vector<std::string> sections;
  std::int64_t rows = 1000;
  bool overwrite = false;
};

// Returns the output of a command, or "" if the command can't be run.
std::string output_of(const char* line) {
  std::string text;
  FILE* const pipe = popen(line, "r");
  if (pipe == nullptr) return text;
  char part[1 << 16];
  for (std::size_t bytes; (bytes = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, bytes);
  pclose(pipe);
  return text;
}

struct Source {
  std::string name, text;
};

Source source_of(const std::string& from) {
  if (!from.empty()) return {from, weft::os::read_file(from)};
  if (std::string all = output_of("apt-cache dumpavail 2>/dev/null"); !all.empty())
    return {"apt-cache dumpavail", std::move(all)};
  if (fs::exists(installed)) return {installed, weft::os::read_file(installed)};
  throw Error(
      std::string("[news] this system has neither apt-cache nor ") + installed +
      ", which Debian and Ubuntu have: give --from FILE, a file of package records such as Debian's Packages files");
}

// Appends the words of the line, separated by spaces. Leaves out a single period, which means an empty line in a Debian
// description.
void append_words(std::string& text, const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word != ".") text += (text.empty() ? "" : " ") + word;
}

struct Row {
  std::string label, text;
};

// The rows of each section, without duplicates.
using Sections = std::map<std::string, std::vector<Row>>;

class Records {
 public:
  void add(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) end();
      else take(line);
    }
    end();
  }

  std::size_t count() const noexcept { return count_; }
  Sections sections() && { return std::move(sections_); }

 private:
  void take(const std::string& line) {
    if (line[0] == ' ' || line[0] == '\t') {
      if (in_text_) append_words(row_.text, line);
      return;
    }
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string key = line.substr(0, colon), value = colon == line.size() ? "" : line.substr(colon + 1);
    in_text_ = (key == "Description" || key == "Description-en") && row_.text.empty();
    if (in_text_) append_words(row_.text, value);
    if (key == "Section") append_words(row_.label, value.substr(value.rfind('/') + 1));
  }

  void end() {
    if (!row_.label.empty() && !row_.text.empty()) {
      ++count_;
      if (seen_.insert(row_.text).second) sections_[row_.label].push_back(row_);
    }
    row_ = {};
    in_text_ = false;
  }

  Sections sections_;
  std::unordered_set<std::string> seen_;
  std::size_t count_ = 0;
  Row row_;
  bool in_text_ = false;
};

// Returns the sections that the user asked for. By default these are the topics. If fewer than two topics have enough
// rows, they are all sections with enough rows.
std::vector<std::string> chosen(const Sections& sections, const std::vector<std::string>& asked,
                                const std::string& name) {
  std::vector<std::string> large, large_topics;
  for (const auto& [section, rows] : sections)
    if (rows.size() >= fewest) {
      large.push_back(section);
      if (std::binary_search(topics.begin(), topics.end(), section)) large_topics.push_back(section);
    }
  const auto said = [](const std::vector<std::string>& names) { return names.empty() ? "no section" : list(names); };
  for (const std::string& section : asked)
    if (std::find(large.begin(), large.end(), section) == large.end())
      throw Error("[news] " + name + ": expected sections with at least " + std::to_string(fewest) + " texts (" +
                  said(large) + "), got \"" + section + "\"");
  std::vector<std::string> labels = !asked.empty() ? asked : large_topics.size() < 2 ? large : large_topics;
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (labels.size() < 2)
    throw Error("[news] " + name + ": expected at least two sections with at least " + std::to_string(fewest) +
                " package descriptions each, got " + said(labels));
  return labels;
}

void sort_by_hash(std::vector<Row>& rows, bool with_label) {
  const auto key = [&](const Row& row) { return hash_of(with_label ? row.label + row.text : row.text); };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const std::uint64_t x = key(a), y = key(b);
    return x != y ? x < y : a.text < b.text;
  });
}

struct File {
  std::string path;
  std::vector<Row> rows;
};

void write(std::vector<File>& files) {
  std::vector<std::unique_ptr<weft::os::AtomicFile>> written;
  for (File& file : files) {
    sort_by_hash(file.rows, true);
    std::string csv = as_csv({"label", "text"});
    for (const Row& row : file.rows) csv += as_csv({row.label, row.text});
    written.push_back(std::make_unique<weft::os::AtomicFile>(file.path));
    written.back()->write(csv.data(), csv.size());
    written.back()->sync();
  }
  for (const auto& file : written) file->commit();
}

int run(const Options& o) {
  if (o.out.empty()) throw UsageError("give --out, the file that the rows are written to");
  std::vector<File> files{{o.out, {}}};
  if (!o.test.empty()) files.push_back({o.test, {}});
  if (!o.test.empty() && same_file(o.test, o.out)) throw UsageError("--test and --out name the same file");
  for (const File& file : files)
    if (!o.overwrite && fs::exists(file.path))
      throw Error("\"" + file.path + "\" already exists: --overwrite replaces it");
  const Source source = source_of(o.from);
  Records records;
  records.add(source.text);
  const std::size_t packages = records.count();
  Sections sections = std::move(records).sections();
  std::string labels;
  for (const std::string& section : chosen(sections, o.sections, source.name)) {
    std::vector<Row>& rows = sections[section];
    sort_by_hash(rows, false);  // makes the remaining rows a random sample
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(o.rows)));
    const auto tested = o.test.empty() ? 0 : std::max<std::ptrdiff_t>(1, std::ssize(rows) / 10);
    if (tested > 0) files[1].rows.insert(files[1].rows.end(), rows.begin(), rows.begin() + tested);
    files[0].rows.insert(files[0].rows.end(), rows.begin() + tested, rows.end());
    labels += (labels.empty() ? "" : ", ") + section + " " + std::to_string(rows.size());
  }
  write(files);
  std::cerr << source.name << ": descriptions of " << packages << " packages; rows per section: " << labels
            << std::endl;
  for (const File& file : files) std::cout << file.path << " " << file.rows.size() << "\n";
  return 0;
}

}  // namespace

std::function<int()> add_news(CLI::App& data) {
  CLI::App* sub = data.add_subcommand(
      "news", "Write a small labeled data set of package descriptions, by default those of this Debian system");
  const auto o = std::make_shared<Options>();
  add_text(*sub, "--out", "FILE", o->out, "CSV file that the rows are written to, with the header label,text");
  add_text(
      *sub, "--test", "FILE", o->test,
      "CSV file that a tenth of each label's rows are written to, as a test set; the other rows are written to --out");
  add_text(*sub, "--from", "FILE", o->from,
           "File of package records (default: the output of apt-cache dumpavail, or else /var/lib/dpkg/status)");
  add_texts(
      *sub, "--section", "NAME", o->sections,
      "Debian section to use as a label; this option may be given more than once (default: " + list(topics) + ")");
  add_number(*sub, "--rows", o->rows, {fewest}, "Maximum number of rows per label");
  sub->add_flag("--overwrite", o->overwrite, "Replace existing files");
  sub->footer(
      help_paragraph(
          "Each text is the description of a package that this Debian or Ubuntu system has or could install. Its label "
          "is the package's section. Each text occurs once. If fewer than two of the default sections have at least "
          "20 texts, all sections with at least 20 texts are used. This happens if apt has no package lists, which "
          "apt-get update fetches. The same source gives the same bytes.") +
      "\nExample:\n  weft data news --out news.csv --test news-test.csv");
  return [o] { return run(*o); };
}

}  // namespace data
