#include "answer/vectors.h"

#include <weft/error.h>
#include <weft/labeled_texts.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <iostream>

#include "answer/text_rows.h"
#include "console/command.h"
#include "console/options.h"
#include "train/long_rows.h"

namespace {

// Approximate number of bytes of text whose vectors are computed together.
constexpr std::size_t enough = 1 << 18;

// Returns the vectors of consecutive texts. If a text has no vector, throws an Error that names the text.
weft::Tensor vectors_of(const std::vector<std::string>& texts, TextPlace place, const weft::Embedder& embedder) {
  try {
    return embedder(texts);
  } catch (const weft::Error&) {
    for (const std::string& text : texts) try {
        (void)embedder({text});
        ++place.number;
      } catch (const weft::Error& error) {
        throw weft::Error(place.name() + ": " + error.what());
      }
    throw;
  }
}

}  // namespace

void VectorOptions::add_to(CLI::App& command) {
  checkpoint.add_to(command);
  const auto read = [this](const std::string& name) { pooling = weft::pooling_from_name(name); };
  add_option(command, "--pooling", "NAME", read,
             help_text("Vector of a text: mean, the mean of the last layer's outputs over the tokens; or first, the "
                       "output for the first token, which is [CLS] if the tokenizer has this symbol",
                       "", "mean"));
  checkpoint.add_precision_to(command);
  checkpoint.add_copy_to(command);
  add_threads(command);
}

weft::Embedder VectorOptions::embedder() const {
  weft::Checkpoint loaded = checkpoint.load();
  if (pooling && loaded.model->task() == weft::Task::retrieval)
    throw UsageError("--pooling can't be used with the task retrieval, whose models output one vector for each text");
  return weft::Embedder(std::move(loaded), pooling.value_or(weft::Pooling::mean));
}

void for_each_vector(const std::string& file, const DataOptions& data_options, const weft::Embedder& embedder,
                     const std::function<void(const std::string& text, const std::vector<float>& vector)>& use) {
  std::vector<std::string> texts;
  TextPlace first{"", "", 0};
  std::size_t bytes = 0;
  LongRows long_rows(embedder.checkpoint());
  const auto flush = [&] {
    const std::vector<float> all = vectors_of(texts, first, embedder).to_vector<float>();
    long_rows.add_read(texts, embedder.truncated());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i) * embedder.dimensions();
      use(texts[i], {begin, begin + embedder.dimensions()});
    }
    texts.clear();
    bytes = 0;
  };
  for_each_text(file, data_options, {}, embedder.checkpoint(), [&](const std::string& text, const TextPlace& place) {
    if (texts.empty()) first = place;
    texts.push_back(text);
    bytes += text.size() + sizeof text;
    if (bytes > enough || file == "-") flush();  // each line of standard input is answered immediately
  });
  flush();
  if (const std::string note = long_rows.note(first.file); !note.empty()) std::cerr << note << std::endl;
}

// Writes version 1.0 of NumPy's format. The header is padded, so that the data begin at a multiple of 64 bytes.
std::string npy_of(const std::vector<float>& numbers, std::int64_t rows, std::int64_t columns) {
  constexpr std::size_t before = 10, unit = 64;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.resize((before + header.size() + unit) / unit * unit - before - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  bytes += header;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 255);
  }
  return bytes;
}

weft::Tensor read_vectors(const std::string& path) {
  weft::LabeledOptions options;
  options.format = weft::DataFormat::npy;
  const auto rows = weft::TextRows::open(path, options);
  std::vector<float> all;
  std::int64_t count = 0;
  for (std::string row; rows->next(row); ++count) {
    if (rows->content() != weft::RowContent::frames)
      throw weft::Error("\"" + path + "\": expected vectors (n, d), got " + weft::row_content_name(rows->content()));
    all.resize(all.size() + row.size() / sizeof(float));
    std::memcpy(all.data() + all.size() - row.size() / sizeof(float), row.data(), row.size());
  }
  if (count == 0) throw weft::Error("\"" + path + "\" has no vectors");
  return weft::Tensor::from(all, {count, std::ssize(all) / count});
}
