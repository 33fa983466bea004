// Tests of weft data pathfinder. The oracle finds the label of a picture without the generator's knowledge. It looks
// for the markers in the pixels, and follows the paddles from one to the next.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "command.h"
#include "data/hash.h"
#include "idx_files.h"
#include "temporary_folder.h"

namespace weft::test::pathfinder {
namespace {

constexpr int side = 32;
constexpr double length = 2, thickness = 0.5, margin = 1;  // pixels

struct Place {
  double x, y;
};

Place operator-(const Place& a, const Place& b) { return {a.x - b.x, a.y - b.y}; }
double dot(const Place& a, const Place& b) { return a.x * b.x + a.y * b.y; }
double distance(const Place& a, const Place& b) { return std::sqrt(dot(a - b, a - b)); }

struct Dash {
  int snake;
  Place tail, head;
};

// Returns the point that is `farther` than the end b on the line from a to b.
Place beyond(const Place& a, const Place& b, double farther) {
  const double share = farther / distance(a, b);
  return {b.x + share * (b.x - a.x), b.y + share * (b.y - a.y)};
}

double distance(const Place& p, const Dash& dash) {
  const Place along = dash.head - dash.tail;
  const double share = std::clamp(dot(p - dash.tail, along) / dot(along, along), 0.0, 1.0);
  return distance(p, Place{dash.tail.x + share * along.x, dash.tail.y + share * along.y});
}

// Of two paddles that don't cross. If they cross, the result is at most half of a paddle's length.
double distance(const Dash& a, const Dash& b) {
  return std::min({distance(a.tail, b), distance(a.head, b), distance(b.tail, a), distance(b.head, a)});
}

struct Shown {
  std::string pixels;
  int label = 0;
  std::vector<Dash> dashes;

  int gray(int row, int column) const {
    return static_cast<unsigned char>(pixels[static_cast<std::size_t>(row * side + column)]);
  }
};

// Reads the three files of a part.
std::vector<Shown> shown_in(const TemporaryFolder& folder, const std::string& part, int count) {
  const std::string images = folder.read(part + "-images-idx3-ubyte"),
                    labels = folder.read(part + "-labels-idx1-ubyte");
  REQUIRE(images.size() == static_cast<std::size_t>(16 + count * side * side));
  REQUIRE(labels.size() == static_cast<std::size_t>(8 + count));
  CHECK(images.substr(0, 16) == idx_header({count, side, side}));
  CHECK(labels.substr(0, 8) == idx_header({count}));
  std::vector<Shown> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].pixels = images.substr(16 + i * side * side, side * side);
    all[i].label = labels[8 + i];
  }
  std::istringstream lines(folder.read(part + "-paddles.tsv"));
  std::string header;
  std::getline(lines, header);
  CHECK(header == "picture\tsnake\ttail_x\ttail_y\thead_x\thead_y");
  std::size_t picture = 0;
  int snake = 0;
  for (double a = 0, b = 0, c = 0, d = 0; lines >> picture >> snake >> a >> b >> c >> d;)
    all.at(picture).dashes.push_back({snake, {a / 1024, b / 1024}, {c / 1024, d / 1024}});
  return all;
}

struct PathfinderPictures : TemporaryFolder {
  std::vector<Shown> make(const std::string& part, int count, const std::string& options = "") const {
    const std::string other = part == "train" ? "test" : "train";
    const Outcome made = weft("data pathfinder --paddles --overwrite --out " + (*this / "set") + " --" + part + " " +
                              std::to_string(count) + " --" + other + " 2 " + options);
    CAPTURE(made.err);
    REQUIRE(made.code == 0);
    return shown_in(*this, "set/" + part, count);
  }
};

// An end of a paddle, and the other end of the same paddle.
struct End {
  std::size_t dash;
  Place here, there;
};

std::vector<End> ends_of(const std::vector<Dash>& dashes) {
  std::vector<End> ends;
  for (std::size_t i = 0; i < dashes.size(); ++i) {
    ends.push_back({i, dashes[i].tail, dashes[i].head});
    ends.push_back({i, dashes[i].head, dashes[i].tail});
  }
  return ends;
}

// Returns the ends that are in the middle of a marker. There, all pixels that a disc of radius 1.5 covers completely
// are white.
std::vector<End> marked_ends(const Shown& shown) {
  std::vector<End> marked;
  for (const End& end : ends_of(shown.dashes)) {
    bool white = true;
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column)
        if (distance(Place{1.0 * column, 1.0 * row}, end.here) < 1.14) white = white && shown.gray(row, column) == 255;
    if (white) marked.push_back(end);
  }
  return marked;
}

// Follows the paddles from the end of the first. The next paddle is the nearest one. Both are a margin away from the
// joint, which lies ahead of the present paddle. The path ends where no paddle is so near. Returns the ends at which it
// enters the paddles, and finally the end of the last paddle.
std::vector<End> path_from(const End& start, const std::vector<Dash>& dashes) {
  std::vector<End> path{start};
  std::set<std::size_t> visited{start.dash};
  for (;;) {
    const Place here = path.back().there;
    std::optional<End> next;
    for (const End& end : ends_of(dashes))
      if (visited.count(end.dash) == 0 && (!next || distance(here, end.here) < distance(here, next->here))) next = end;
    if (!next || distance(here, next->here) > 2 * margin + 0.01) break;
    const Place joint = beyond(path.back().here, here, margin);
    CHECK(distance(joint, next->here) == doctest::Approx(margin).epsilon(0.01));
    CHECK(distance(joint, next->there) == doctest::Approx(margin + length).epsilon(0.01));
    visited.insert(next->dash);
    path.push_back(*next);
  }
  path.push_back({path.back().dash, path.back().there, path.back().here});
  return path;
}

// Returns the label, which is 1 if the path from one marker ends at the other. Also checks that each marker is at the
// end of a path with this number of paddles.
int answer_of(const Shown& shown, std::size_t paddles = 14) {
  const std::vector<End> marked = marked_ends(shown);
  REQUIRE(marked.size() == 2);
  const std::vector<End> path = path_from(marked[0], shown.dashes), other = path_from(marked[1], shown.dashes);
  CHECK(path.size() == paddles + 1);
  CHECK(other.size() == paddles + 1);
  return distance(path.back().here, marked[1].here) < 0.01 ? 1 : 0;
}

// How bright a pixel may be. Subpixels at the edge of a shape may be covered or not.
struct GrayRange {
  int low = 0, high = 0;

  template <class Distance>
  void add(int row, int column, double contrast, double radius, const Distance& to_shape) {
    int fewest = 0, most = 0;
    for (const double down : {-0.25, 0.25})
      for (const double right : {-0.25, 0.25}) {
        const double d = to_shape(Place{column + right, row + down});
        fewest += d < radius - 0.002;
        most += d < radius + 0.002;
      }
    const auto gray = [&](int count) {
      return static_cast<int>(std::lround(std::min(1.0, contrast * count / 4) * 255));
    };
    low = std::max(low, gray(fewest));
    high = std::max(high, gray(most));
  }
};

// Draws a paddle as a rectangle that extends beyond both ends by half its thickness.
double distance_in_rectangle(const Place& p, const Dash& dash) {
  const Place along = dash.head - dash.tail,
              from_middle = p - Place{(dash.tail.x + dash.head.x) / 2, (dash.tail.y + dash.head.y) / 2};
  const double across = std::abs(from_middle.x * along.y - from_middle.y * along.x) / length;
  return std::max(across, std::abs(dot(from_middle, along)) / length - length / 2);
}

int wrong_pixels(const Shown& shown) {
  const std::vector<End> marked = marked_ends(shown);
  int wrong = 0;
  for (int row = 0; row < side; ++row)
    for (int column = 0; column < side; ++column) {
      GrayRange range;
      for (const Dash& dash : shown.dashes)
        if (distance(Place{1.0 * column, 1.0 * row}, dash.tail) < length + 2)
          range.add(row, column, dash.snake < 2 ? 1.5 : 2, thickness / 2,
                    [&](const Place& p) { return distance_in_rectangle(p, dash); });
      for (const End& end : marked)
        range.add(row, column, 1, 1.5, [&](const Place& p) { return distance(p, end.here); });
      wrong += shown.gray(row, column) < range.low || shown.gray(row, column) > range.high;
    }
  return wrong;
}

}  // namespace

TEST_CASE("pathfinder: the path from a marker leads to the other marker exactly if the label is 1") {
  const PathfinderPictures folder;
  for (const std::string part : {"train", "test"}) {
    CAPTURE(part);
    const std::vector<Shown> all = folder.make(part, 400);
    std::map<int, int> labels;
    std::map<std::pair<int, int>, int> starts;  // label, contour with the marker at its start
    int agree = 0, wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      const Shown& shown = all[i];
      ++labels[shown.label];
      agree += answer_of(shown) == shown.label;
      wrong += wrong_pixels(shown);
      std::vector<Dash> starting;
      for (const End& end : marked_ends(shown)) {
        const Dash& dash = shown.dashes[end.dash];
        if (distance(dash.tail, end.here) < 0.01) starting.push_back(dash);
      }
      REQUIRE(starting.size() == 1);
      ++starts[{shown.label, starting[0].snake}];
    }
    CHECK(agree == 400);
    CHECK(wrong == 0);
    CHECK(labels == std::map<int, int>{{0, 200}, {1, 200}});
    CHECK(starts.size() == 4);
    for (const auto& each : starts) CHECK(each.second == doctest::Approx(100).epsilon(0.3));
  }
  // With an odd number of pictures, one label occurs once more.
  int ones = 0;
  for (const Shown& shown : folder.make("train", 31)) ones += shown.label;
  CHECK((ones == 15 || ones == 16));
}

TEST_CASE("pathfinder: with fewer dashes, the distractors are shorter and more numerous") {
  const PathfinderPictures folder;
  for (const auto& [dashes, shorter, most] : {std::array{3, 1, 22}, {6, 2, 11}, {9, 3, 7}, {13, 4, 5}}) {
    CAPTURE(dashes);
    int ones = 0;
    std::size_t distractors = 0;
    for (const Shown& shown : folder.make("train", 50, "--dashes " + std::to_string(dashes))) {
      ones += shown.label;
      CHECK(answer_of(shown, static_cast<std::size_t>(dashes)) == shown.label);
      CHECK(wrong_pixels(shown) == 0);
      std::map<int, int> paddles;
      for (const Dash& dash : shown.dashes) ++paddles[dash.snake];
      for (const auto& [snake, size] : paddles) CHECK(size == (snake < 2 ? dashes : shorter));
      CHECK(paddles.size() <= static_cast<std::size_t>(2 + most));
      distractors = std::max(distractors, paddles.size() - 2);
    }
    CHECK(ones == 25);
    CHECK(distractors >= static_cast<std::size_t>(most) / 2);
  }
  for (const std::string dashes : {"2", "15"})
    CHECK(weft("data pathfinder --out " + (folder / "set") + " --dashes " + dashes).code == 2);
}

TEST_CASE("pathfinder: lengths, distances, turns and places of the snakes follow the rules") {
  const PathfinderPictures folder;
  const std::vector<Shown> all = folder.make("train", 500);
  std::map<int, int> rows_of_start;
  std::map<std::pair<bool, bool>, int> quadrants;
  double turns = 0, sum_of_turns = 0, sharp = 0, snakes = 0, nearest = 100, least = 100, most = -100;
  for (const Shown& shown : all) {
    const std::vector<Dash>& dashes = shown.dashes;
    std::map<int, int> paddles;
    for (std::size_t i = 0; i < dashes.size(); ++i) {
      ++paddles[dashes[i].snake];
      CHECK(distance(dashes[i].tail, dashes[i].head) == doctest::Approx(length).epsilon(0.001));
      for (const Place& end : {dashes[i].tail, dashes[i].head}) {
        least = std::min({least, end.x, end.y});
        most = std::max({most, end.x, end.y});
      }
      for (std::size_t j = 0; j < i; ++j)
        if (dashes[i].snake != dashes[j].snake || i - j > 1)
          nearest = std::min(nearest, distance(dashes[i], dashes[j]));
      if (i == 0 || dashes[i].snake != dashes[i - 1].snake) continue;
      const double cosine = dot(dashes[i].head - dashes[i].tail, dashes[i - 1].head - dashes[i - 1].tail) / 4;
      const double turn = std::acos(std::clamp(cosine, -1.0, 1.0));
      CHECK(turn < 1.5707);
      if (i != 1 && i != 15) continue;
      ++turns;
      sum_of_turns += turn;
      sharp += turn > 1.0472;
    }
    for (const auto& [snake, size] : paddles) CHECK(size == (snake < 2 ? 14 : 4));
    REQUIRE(paddles.size() >= 2);
    CHECK(paddles.size() <= 2 + 5);
    snakes += static_cast<double>(paddles.size()) - 2;
    const Place first = dashes[0].tail, second = dashes[14].tail;
    CHECK(distance(first, second) == doctest::Approx(7).epsilon(0.001));
    for (const Place& end : {first, dashes[0].head})
      for (const double at : {end.x, end.y}) CHECK(std::abs(at - 15.5) <= 2);
    ++rows_of_start[static_cast<int>(first.y)];
    ++quadrants[{second.x > first.x, second.y > first.y}];
  }
  CHECK(nearest >= 2 * margin + thickness - 0.001);
  CHECK(nearest < 2 * margin + thickness + 0.1);
  // The margin of a paddle touches, but does not cover the padding of one pixel.
  const double border = 1 + margin + thickness / 2 - 0.5;
  CHECK(least >= border - 0.001);
  CHECK(most <= 31 - border + 0.001);
  CHECK(least < border + 0.1);
  CHECK(most > 31 - border - 0.1);
  // The first turns of the contours. For a density of cos², the mean angle is 0.467, and 5.8 % of the angles exceed 60
  // degrees. If all angles below a right angle were equally likely, these values would be 0.785 and 33 %. The rules
  // favor sharper turns than cos², because contours that curl up are more likely to have enough room for 14 paddles.
  CHECK(turns == 1000);
  CHECK(std::abs(sum_of_turns / turns - 0.53) < 0.03);
  CHECK(std::abs(sharp / turns - 0.11) < 0.03);
  CHECK(snakes / 500 == doctest::Approx(3.3).epsilon(0.1));
  CHECK(rows_of_start.size() == 4);
  CHECK(quadrants.size() == 4);
  for (const auto& each : rows_of_start) CHECK(each.second == doctest::Approx(125).epsilon(0.4));
  for (const auto& each : quadrants) CHECK(each.second == doctest::Approx(125).epsilon(0.4));
}

TEST_CASE("pathfinder: a seed gives the same bytes on every machine, and different seeds give different pictures") {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& to, const std::string& options) {
    const Outcome made = weft("data pathfinder --out " + (folder / to) + " " + options);
    CAPTURE(made.err);
    REQUIRE(made.code == 0);
    CHECK(made.out == (folder / to) + "/train-images-idx3-ubyte " + options.substr(8, 2) + "\n" + (folder / to) +
                          "/test-images-idx3-ubyte 20\n");
    CHECK_FALSE(std::filesystem::exists(folder / to + "/train-paddles.tsv"));
  };
  make("a", "--train 40 --test 20");
  make("b", "--train 40 --test 20 --seed 1");
  make("c", "--train 40 --test 20 --seed 2");
  make("d", "--train 60 --test 20");
  std::set<std::string> pictures;
  for (const char* file : {"train-images-idx3-ubyte", "test-images-idx3-ubyte"}) {
    const std::string of_a = folder.read(std::string("a/") + file), of_c = folder.read(std::string("c/") + file);
    CHECK(of_a == folder.read(std::string("b/") + file));
    CHECK(of_a.substr(16) == folder.read(std::string("d/") + file).substr(16, of_a.size() - 16));
    for (const std::string& all : {of_a, of_c})
      for (std::size_t at = 16; at < all.size(); at += side * side) pictures.insert(all.substr(at, side * side));
  }
  CHECK(pictures.size() == 2 * (40 + 20));
  for (const char* part : {"train", "test"}) {
    const std::string file = std::string("/") + part + "-labels-idx1-ubyte";
    CHECK(folder.read("a" + file) == folder.read("b" + file));
    CHECK(folder.read("a" + file) != folder.read("c" + file));
  }
  CHECK(data::hash_of(folder.read("a/train-images-idx3-ubyte")) == 17270342941120931505u);
  CHECK(data::hash_of(folder.read("a/train-labels-idx1-ubyte")) == 13152212489295809052u);
}

TEST_CASE("pathfinder: weft train and weft eval read the files") {
  const TemporaryFolder folder;
  REQUIRE(weft("data pathfinder --train 40 --test 10 --out " + (folder / "set")).code == 0);
  const std::string test = folder / "set/test-images-idx3-ubyte";
  const Outcome trained =
      weft("train --arch tnn --layers 1 --d-model 8 --patch 4 --steps 2 --batch 4 --threads 1 --data " +
           (folder / "set/train-images-idx3-ubyte") + " --test " + test + " --out " + (folder / "run"));
  CAPTURE(trained.err);
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "IDX, pictures of 32 x 32 pixels; 40 rows, 2 labels: 0, 1"));
  CHECK(contains(weft("eval " + (folder / "run") + " --data " + test).out, "accuracy"));
}

TEST_CASE("pathfinder: bad options, files that already exist, and a signal") {
  const TemporaryFolder folder;
  const std::string small = "data pathfinder --train 4 --test 2", out = " --out " + (folder / "x");
  CHECK(fails_with(weft(small), 2, "give --out, the folder"));
  for (const char* bad : {"--train 0", "--test 0", "--train 10000001", "--train 1.5", "--seed -1", "--out ''"}) {
    CAPTURE(bad);
    const std::string option(bad);
    CHECK(fails_with(weft(small + out + " " + bad), 2, option.substr(0, option.find(' '))));
  }
  CHECK(fails_with(weft(small + out + " --check x"), 2, "--check"));
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  REQUIRE(weft(small + out).code == 0);
  const std::string before = folder.read("x/test-images-idx3-ubyte");
  for (const char* file : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "test-labels-idx1-ubyte"}) {
    CHECK(fails_with(weft(small + " --seed 2" + out), 1, "already exists: --overwrite replaces it"));
    std::filesystem::remove(folder / "x/" + file);
  }
  CHECK(folder.read("x/test-images-idx3-ubyte") == before);
  CHECK(weft(small + " --paddles --overwrite" + out).code == 0);
  CHECK(std::filesystem::exists(folder / "x/test-paddles.tsv"));
  CHECK(weft(small + " --seed 2 --overwrite" + out).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "x/test-paddles.tsv"));  // they belonged to other pictures
  CHECK(folder.read("x/test-images-idx3-ubyte") != before);
  folder.write("file", "");
  CHECK(fails_with(weft(small + " --out " + (folder / "file/x")), 1, "can't make the folder"));
  const Outcome stopped =
      weft_killed_after("data pathfinder --train 10000000 --out " + (folder / "stopped"), 500, SIGINT);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "weft: stopped; nothing was written"));
  CHECK(std::filesystem::is_empty(folder / "stopped"));
}

}  // namespace weft::test::pathfinder
