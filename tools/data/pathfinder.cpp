// The task Pathfinder (Linsley et al. 2018, arXiv 1805.08315) with 32 x 32 pixels, according to the rules of the Long
// Range Arena (Tay et al. 2020, arXiv 2011.04006; lra_benchmarks/data/pathfinder.py).
#include "data/pathfinder.h"

#include <weft/os.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "console/command.h"
#include "console/help.h"
#include "console/options.h"
#include "console/progress.h"
#include "data/output.h"
#include "data/snakes.h"

namespace data {
namespace {

struct Options {
  std::string out;
  std::int64_t train = 180000, test = 20000, dashes = longest_contour;
  std::uint64_t seed = 1;
  bool paddles = false, overwrite = false;
};

// The published generator draws everything with twice as many pixels, and reduces the size by Lanczos interpolation.
// Here a pixel is as bright as the share of its subpixels whose centers are covered.
constexpr std::int64_t antialias_scale = 2, subpixel = pixel / antialias_scale;

// Contrasts in quarters. The snakes have the contrast 2, which contours multiply by their paddle contrast of 0.75. A
// pixel that is covered completely has the brightness 255 · contrast, but at most 255. The published generator divides
// by the largest value of the picture instead, which is between 1 and 1.2.
enum Contrast { of_marker = 4, of_contour = 6, of_distractor = 8 };

class Picture {
 public:
  Picture() : pixels_(window_size * window_size, '\0') {}

  // Like the lines of the published generator, a paddle extends beyond its ends by half its thickness.
  void draw(const Paddle& paddle, Contrast contrast) {
    const std::int64_t along_x = paddle.head.x - paddle.tail.x, along_y = paddle.head.y - paddle.tail.y;
    const std::int64_t end = along_x * along_x + along_y * along_y, side = paddle_thickness / 2 * paddle_length;
    draw(paddle.tail, paddle_length + pixel, contrast, [&](std::int64_t x, std::int64_t y) {
      const std::int64_t along = x * along_x + y * along_y, across = x * along_y - y * along_x;
      return along >= -side && along < end + side && across >= -side && across < side;
    });
  }

  void draw_marker(const Point& center) {
    draw(center, marker_radius + pixel, of_marker,
         [](std::int64_t x, std::int64_t y) { return x * x + y * y <= marker_radius * marker_radius; });
  }

  const std::string& pixels() const { return pixels_; }

 private:
  // Draws the subpixels for which `covered` returns true. Its arguments are the subpixel's center relative to `origin`.
  // No covered subpixel is farther than `reach` from the origin.
  template <class Covered>
  void draw(const Point& origin, std::int64_t reach, Contrast contrast, const Covered& covered) {
    for (std::int64_t row = 0; row < window_size; ++row)
      for (std::int64_t column = 0; column < window_size; ++column) {
        const std::int64_t x = column * pixel - origin.x, y = row * pixel - origin.y;
        if (std::abs(x) > reach || std::abs(y) > reach) continue;
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < antialias_scale; ++i)
          for (std::int64_t j = 0; j < antialias_scale; ++j) count += covered(x + centered(j), y + centered(i)) ? 1 : 0;
        brighten(pixels_[static_cast<std::size_t>(row * window_size + column)], count, contrast);
      }
  }

  // The center of the i-th subpixel relative to the center of its pixel.
  static std::int64_t centered(std::int64_t i) { return i * subpixel + subpixel / 2 - pixel / 2; }

  // Where several things are drawn, the brightest one counts.
  static void brighten(char& value, std::int64_t count, Contrast contrast) {
    constexpr std::int64_t all = 4 * antialias_scale * antialias_scale;
    const std::int64_t bright = std::min<std::int64_t>(255, (255 * count * contrast + all / 2) / all);
    value = static_cast<char>(std::max<std::int64_t>(static_cast<unsigned char>(value), bright));
  }

  std::string pixels_;
};

// Draws the snakes and two markers. One marker is at the start of a contour. The other is at the end of the same
// contour if `connected`, and otherwise at the end of the other contour.
std::string drawn(const Snakes& snakes, bool connected, std::size_t first) {
  Picture picture;
  for (const Snake& snake : snakes.contours)
    for (const Paddle& paddle : snake) picture.draw(paddle, of_contour);
  for (const Snake& snake : snakes.distractors)
    for (const Paddle& paddle : snake) picture.draw(paddle, of_distractor);
  picture.draw_marker(snakes.contours[first].front().tail);
  picture.draw_marker(snakes.contours[connected ? first : 1 - first].back().head);
  return picture.pixels();
}

// Describes the paddles of a picture, one in each line.
std::string lines_of(std::int64_t picture, const Snakes& snakes) {
  std::string text;
  std::size_t number = 0;
  const auto add = [&](const Snake& snake) {
    const std::string begin = std::to_string(picture) + "\t" + std::to_string(number++);
    for (const auto& [tail, head] : snake) {
      text += begin;
      for (const std::int64_t value : {tail.x, tail.y, head.x, head.y}) text += "\t" + std::to_string(value);
      text += "\n";
    }
  };
  for (const Snake& snake : snakes.contours) add(snake);
  for (const Snake& snake : snakes.distractors) add(snake);
  return text;
}

// The first bytes of a file in the IDX format (yann.lecun.com/exdb/mnist): the type "unsigned bytes", the number of
// axes, and their sizes as big-endian numbers of 32 bits.
std::string idx_header(const std::vector<std::int64_t>& sizes) {
  std::string header{0, 0, 8, static_cast<char>(sizes.size())};
  for (const std::int64_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(size >> shift & 255);
  return header;
}

// The files of the training set or the test set.
class Part {
 public:
  Part(const Options& o, const std::string& name, std::int64_t pictures, const weft::Random& random)
      : pictures_(pictures), dashes_(o.dashes), random_(random), files_(o.paddles ? 3 : 2) {
    for (const char* suffix : {"-images-idx3-ubyte", "-labels-idx1-ubyte", "-paddles.tsv"})
      paths_.push_back(o.out + "/" + name + suffix);
  }

  const std::vector<std::string>& paths() const { return paths_; }
  std::int64_t pictures() const { return pictures_; }

  void write(Count& shown) {
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i] = std::make_unique<weft::os::AtomicFile>(paths_[i]);
    append(0, idx_header({pictures_, window_size, window_size}));
    append(1, idx_header({pictures_}));
    append(2, "picture\tsnake\ttail_x\ttail_y\thead_x\thead_y\n");
    for (std::int64_t i = 0; i < pictures_ && stopped_by() == 0; ++i) {
      write_picture(i);
      shown.next();
    }
    for (const auto& file : files_) file->sync();
  }

  void commit() {
    for (const auto& file : files_) file->commit();
    std::error_code ignored;
    if (files_.size() < paths_.size()) std::filesystem::remove(paths_.back(), ignored);  // those of other pictures
  }

 private:
  // Pictures 2k and 2k + 1 have different labels in random order. So both labels are equally frequent. The label has no
  // influence on the snakes.
  void write_picture(std::int64_t i) {
    const weft::Random order = random_.split(0), contour = random_.split(1), places = random_.split(2);
    const auto index = static_cast<std::uint64_t>(i);
    const bool connected = (order.below(index / 2, 2) == 1) == (index % 2 == 1);
    const Snakes snakes = random_snakes(places.split(index), dashes_);
    append(0, drawn(snakes, connected, contour.below(index, 2)));
    append(1, std::string(1, connected ? 1 : 0));
    append(2, files_.size() > 2 ? lines_of(i, snakes) : "");
  }

  void append(std::size_t file, const std::string& bytes) {
    if (file < files_.size()) files_[file]->write(bytes.data(), bytes.size());
  }

  std::int64_t pictures_, dashes_;
  weft::Random random_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<weft::os::AtomicFile>> files_;
};

int run(const Options& o) {
  if (o.out.empty()) throw UsageError("give --out, the folder that the pictures and their labels are written to");
  const weft::Random random(o.seed);
  Part parts[] = {{o, "train", o.train, random.split(0)}, {o, "test", o.test, random.split(1)}};
  std::vector<std::string> paths = parts[0].paths();
  paths.insert(paths.end(), parts[1].paths().begin(), parts[1].paths().end());
  prepare_folder(o.out, paths, o.overwrite);
  catch_signals();
  Count shown("picture", o.train + o.test);
  for (Part& part : parts) part.write(shown);
  shown.clear();
  if (stopped_by() != 0) return exit_stopped();
  for (Part& part : parts) part.commit();
  std::cerr << "Pathfinder, 32 x 32 pixels; guessing reaches an accuracy of 50 %" << std::endl;
  for (const Part& part : parts) std::cout << part.paths()[0] << " " << part.pictures() << "\n";
  return 0;
}

}  // namespace

std::function<int()> add_pathfinder(CLI::App& data) {
  CLI::App* sub = data.add_subcommand("pathfinder", "Pathfinder: are the two marked ends those of the same path?");
  const auto o = std::make_shared<Options>();
  constexpr std::int64_t most = 10'000'000;
  add_text(*sub, "--out", "FOLDER", o->out,
           "Folder that the pictures (train-images-idx3-ubyte, test-images-idx3-ubyte) and the labels "
           "(train-labels-idx1-ubyte, test-labels-idx1-ubyte) are written to");
  add_number(*sub, "--train", o->train, {1, most}, "Number of pictures for training");
  add_number(*sub, "--test", o->test, {1, most}, "Number of pictures in the test set");
  add_number(*sub, "--dashes", o->dashes, {shortest_contour, longest_contour},
             "Number of dashes of the two long paths; the arena's easier variants have 6 and 9");
  add_number(*sub, "--seed", o->seed, {0},
             "Seed of the pictures; the same seed and options give the same bytes on every machine");
  sub->add_flag("--paddles", o->paddles,
                "Also write train-paddles.tsv and test-paddles.tsv: the two ends of each paddle in units of 1/1024 "
                "pixel, and its snake; snakes 0 and 1 are the two long paths");
  sub->add_flag("--overwrite", o->overwrite, "Replace existing files in --out");
  sub->footer(
      help_paragraph(
          "Pathfinder by the rules of the Long Range Arena. Each picture has 32 x 32 gray pixels and shows two long "
          "paths of 14 dashes (\"paddles\"), up to five short paths of 4 brighter dashes, and two round markers. With "
          "--dashes, the long paths are shorter, the short paths have a third as many dashes, rounded down, and there "
          "are more short paths. The label is 1 if the markers are at the two ends of the same long path. It is 0 if "
          "each of the long paths has one marker. Half of the pictures have each label. The files have the format of "
          "MNIST. The arena's Transformer (arXiv 2011.04006) reaches 71.40 % accuracy, and guessing reaches 50 %.") +
      "\nExample:\n  weft data pathfinder --out pathfinder"
      "\n  weft train --arch tnn --patch 1 --data pathfinder/train-images-idx3-ubyte --out run");
  return [o] { return run(*o); };
}

}  // namespace data
