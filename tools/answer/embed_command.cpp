#include <weft/embed.h>
#include <weft/error.h>
#include <weft/os.h>

#include <iostream>
#include <optional>

#include "answer/predictions.h"
#include "answer/text_rows.h"
#include "answer/vectors.h"
#include "console/command.h"
#include "console/options.h"

namespace {

struct EmbedCommand {
  VectorOptions vectors;
  DataOptions data_options;
  std::string file = "-", out;
};

int embed(const EmbedCommand& o) {
  const weft::Embedder embedder = o.vectors.embedder();
  std::optional<weft::os::AtomicFile> file;
  if (!o.out.empty()) file.emplace(o.out);  // so that an error is reported before the long computation
  std::vector<float> all;
  for_each_vector(o.file, o.data_options, embedder, [&](const std::string& text, const std::vector<float>& vector) {
    if (!o.out.empty()) {
      all.insert(all.end(), vector.begin(), vector.end());
    } else if (!(std::cout << as_line({{"text", text}, {"vector", vector}}) << std::flush)) {
      throw weft::Error("can't write to standard output");
    }
  });
  if (o.out.empty()) return 0;
  const std::int64_t rows = std::ssize(all) / embedder.dimensions();
  const std::string bytes = npy_of(all, rows, embedder.dimensions());
  file->write(bytes.data(), bytes.size());
  file->commit();
  std::cerr << o.out << ": " << rows << " vectors of " << embedder.dimensions() << " numbers" << std::endl;
  return 0;
}

}  // namespace

Command embed_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("embed", "Compute vectors (embeddings) of texts");
  const auto o = std::make_shared<EmbedCommand>();
  o->vectors.add_to(*command);
  CLI::Option* file = command
                          ->add_option("file", o->file,
                                       "Texts (one per line), or a table as for weft train --data (default: standard "
                                       "input)")
                          ->type_name("FILE");
  add_text(*command, "--out", "FILE", o->out, "Write the vectors as a NumPy file (.npy, f32) instead of JSON lines");
  o->data_options.add_to(*command, file);
  command->footer(
      "Prints a JSON object for each text. It contains the text and its vector, whose norm is 1. For a\n"
      "model that was trained with --task retrieval, the vector is the model's output. For any other model\n"
      "of texts, --pooling says how the vector is computed.\n"
      "Examples:\n"
      "  weft embed titles titles.txt --out titles.npy\n"
      "  weft embed news titles.txt --pooling first\n"
      "  echo \"Oil prices soar\" | weft embed titles");
  return {command, [o] { return embed(*o); }};
}
