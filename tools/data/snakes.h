// The snakes of the task Pathfinder: where the paddles of a picture are. Only integers are used, so that every compiler
// and processor places them equally.
#pragma once
#include <weft/random.h>

#include <array>
#include <cstdint>
#include <vector>

namespace data {

// Lengths and coordinates are in units of 1/1024 pixel. The center of the pixel in row r and column c is (c, r) pixels.
constexpr std::int64_t pixel = 1024;

// The rules of the Long Range Arena for 32 x 32 pixels (lra_benchmarks/data/pathfinder.py, class Pathfinder32), with
// the names of the published generator.
constexpr std::int64_t window_size = 32, padding = 1;  // pixels; no paddle is in the padding
constexpr std::int64_t paddle_length = 2 * pixel, paddle_thickness = pixel / 2, paddle_margin = pixel;
constexpr std::int64_t seed_distance = 7 * pixel, marker_radius = 3 * pixel / 2;
constexpr std::int64_t continuity = 1;
constexpr std::int64_t shortest_contour = 3, longest_contour = 14;  // lengths in paddles
// A distractor has a third of a contour's length. Together they have up to 22 paddles.
constexpr std::int64_t distractor_share = 3, distractor_paddles = 22;

struct Point {
  std::int64_t x, y;
};

struct Paddle {
  Point tail, head;
};

// The paddles of a snake in order. The head of a paddle points to the next one.
using Snake = std::vector<Paddle>;

struct Snakes {
  std::array<Snake, 2> contours;
  std::vector<Snake> distractors;
};

// Places the snakes of one picture, whose contours have `contour_length` paddles. The random numbers and the length
// exactly determine the result.
Snakes random_snakes(const weft::Random& random, std::int64_t contour_length);

}  // namespace data
