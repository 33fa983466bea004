#include <weft/context.h>
#include <weft/embed.h>
#include <weft/error.h>
#include <weft/ops.h>

#include <iostream>

#include "answer/predictions.h"
#include "answer/text_rows.h"
#include "answer/vectors.h"
#include "console/command.h"
#include "console/options.h"
#include "console/visible.h"

namespace {

struct NearestCommand {
  VectorOptions of_vectors;
  DataOptions data_options;
  std::string corpus, vectors;
  std::vector<std::string> queries;
  std::int64_t top = 10;
  bool json = false;
};

struct Corpus {
  std::vector<std::string> texts;
  weft::Tensor vectors;  // (n, d)
};

// Reads the corpus. Reads its vectors from the file of --vectors, or computes them if no such file is given.
Corpus read_corpus(const NearestCommand& o, const weft::Embedder& embedder) {
  Corpus corpus;
  const std::int64_t d = embedder.dimensions();
  std::vector<float> all;
  if (o.vectors.empty()) {
    for_each_vector(o.corpus, o.data_options, embedder, [&](const std::string& text, const std::vector<float>& vector) {
      corpus.texts.push_back(text);
      all.insert(all.end(), vector.begin(), vector.end());
    });
    corpus.vectors = weft::Tensor::from(all, {std::ssize(corpus.texts), d});
    return corpus;
  }
  for_each_text(o.corpus, o.data_options, {}, embedder.checkpoint(),
                [&](const std::string& text, const TextPlace&) { corpus.texts.push_back(text); });
  corpus.vectors = read_vectors(o.vectors);
  if (corpus.vectors.size(0) != std::ssize(corpus.texts) || corpus.vectors.size(1) != d)
    throw weft::Error("\"" + o.vectors + "\": expected " + std::to_string(corpus.texts.size()) + " vectors of " +
                      std::to_string(d) + " numbers, one for each text of the corpus, got " +
                      std::to_string(corpus.vectors.size(0)) + " vectors of " + std::to_string(corpus.vectors.size(1)) +
                      " numbers");
  return corpus;
}

void print(const NearestCommand& o, const Corpus& corpus, const std::string& query, const weft::Tensor& vector) {
  std::string out;
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const weft::Neighbor& near : weft::nearest(corpus.vectors, vector, o.top)) {
    const std::string& text = corpus.texts[static_cast<std::size_t>(near.index)];
    char similarity[32];
    std::snprintf(similarity, sizeof similarity, "%.4f\t", near.similarity);
    out += similarity + visible(text) + "\n";
    found.push_back({{"text", text}, {"row", near.index + 1}, {"similarity", near.similarity}});
  }
  if (o.json) out = as_line({{"query", query}, {"nearest", found}});
  else if (o.queries.size() > 1) out += "\n";
  if (!(std::cout << out << std::flush)) throw weft::Error("can't write to standard output");
}

// Returns the query's vector, of shape (d).
weft::Tensor vector_of(const std::string& query, const weft::Embedder& embedder) try {
  return weft::reshape(embedder({query}), {embedder.dimensions()});
} catch (const weft::Error& error) {
  throw weft::Error("the query \"" + query.substr(0, 60) + "\": " + error.what());
}

int nearest(const NearestCommand& o) {
  const weft::Embedder embedder = o.of_vectors.embedder();
  const Corpus corpus = read_corpus(o, embedder);
  if (corpus.texts.empty()) throw weft::Error("\"" + o.corpus + "\" has no texts");
  for (const std::string& query : o.queries) print(o, corpus, query, vector_of(query, embedder));
  return 0;
}

}  // namespace

Command nearest_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("nearest", "Find the texts that are nearest to a query");
  const auto o = std::make_shared<NearestCommand>();
  o->of_vectors.add_to(*command);
  CLI::Option* corpus =
      command->add_option("corpus", o->corpus, "Texts to search (one per line), or a table as for weft train --data")
          ->type_name("FILE")
          ->required();
  command->add_option("query", o->queries, "Query; several queries may be given")->type_name("TEXT")->required();
  add_number(*command, "--top", o->top, {1}, "Number of texts to print for each query");
  add_text(*command, "--vectors", "FILE", o->vectors,
           "File with the vectors of the corpus, written by weft embed --out with the same model and --pooling");
  command->add_flag("--json", o->json, "Print a JSON object for each query");
  o->data_options.add_to(*command, corpus);
  command->footer(
      "Prints SIMILARITY, a tab and TEXT for each of the nearest texts, starting with the nearest. The\n"
      "similarity is the cosine of the angle between the vectors of the query and of the text (see weft\n"
      "embed). With several queries, an empty line follows the results of each query.\n"
      "Examples:\n"
      "  weft nearest titles titles.txt \"a strike at the airport\" --top 3\n"
      "  weft nearest titles titles.txt --vectors titles.npy \"oil prices\"");
  return {command, [o] { return nearest(*o); }};
}
