// The rules are those of the generator of Linsley et al. 2018 (arXiv 1805.08315; github.com/drewlinsley/pathfinder,
// snakes2.py), with two differences. First, that generator rounds the ends of all paddles to whole pixels, and detects
// collisions in a bitmap. This file computes the distances exactly, so that snakes never touch. Second, that generator
// draws a pixel for the next paddle, and starts again after three collisions. This file draws only from the directions
// in which the next paddle collides with nothing.
#include "data/snakes.h"

#include <algorithm>
#include <cstdlib>

namespace data {
namespace {

// The random numbers of one attempt, in order.
class Draws {
 public:
  explicit Draws(const weft::Random& random) : random_(random) {}
  // Returns a number from 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.below(drawn_++, static_cast<std::uint64_t>(n)));
  }

 private:
  weft::Random random_;
  std::uint64_t drawn_ = 0;
};

// A direction is a number from 0 to 63, in steps of 360/64 = 5.625 degrees. A table replaces sin and cos, because the
// last bits of these functions depend on the C library: sine_of[k] = round(1024 sin(k · 90/16 degrees)).
constexpr std::int64_t directions = 64, right_angle = directions / 4;
constexpr std::array<std::int64_t, right_angle + 1> sine_of = {0,   100, 200, 297, 392, 483,  569,  650, 724,
                                                               792, 851, 903, 946, 980, 1004, 1019, 1024};

std::int64_t sine(std::int64_t direction) {
  const std::int64_t turn = direction % directions, half = turn % (2 * right_angle);
  const std::int64_t size = sine_of[static_cast<std::size_t>(half <= right_angle ? half : 2 * right_angle - half)];
  return turn < 2 * right_angle ? size : -size;
}

// Returns the point at this distance, which is a whole number of pixels. So the result is exact.
Point moved(const Point& from, std::int64_t direction, std::int64_t distance) {
  return {from.x + distance / pixel * sine(direction + right_angle), from.y + distance / pixel * sine(direction)};
}

Paddle paddle_at(const Point& tail, std::int64_t direction) { return {tail, moved(tail, direction, paddle_length)}; }

constexpr std::int64_t square(std::int64_t x) { return x * x; }

// Each paddle is paddle_thickness wide and has a margin on all sides. The margins of two paddles may touch, but not
// overlap. So their center lines have at least this distance.
constexpr std::int64_t smallest_distance = 2 * paddle_margin + paddle_thickness;

// Returns whether the point is too near to the center line of the paddle.
bool is_near(const Point& p, const Paddle& paddle) {
  const std::int64_t x = p.x - paddle.tail.x, y = p.y - paddle.tail.y;
  const std::int64_t along_x = paddle.head.x - paddle.tail.x, along_y = paddle.head.y - paddle.tail.y;
  const std::int64_t end = square(along_x) + square(along_y), along = x * along_x + y * along_y;
  if (along <= 0) return square(x) + square(y) < square(smallest_distance);
  if (along >= end) return square(p.x - paddle.head.x) + square(p.y - paddle.head.y) < square(smallest_distance);
  return square(x * along_y - y * along_x) < square(smallest_distance) * end;  // both below 2^60
}

// The smallest distance of two segments that don't cross is at an end of one of them. If two paddles cross, an end of
// one is at most half a paddle's length away from the other, so this function detects that, too.
bool collide(const Paddle& a, const Paddle& b) {
  return is_near(a.tail, b) || is_near(a.head, b) || is_near(b.tail, a) || is_near(b.head, a);
}

// Returns whether a point has at least this distance from each side of the picture. The sides are at -1/2 pixel and at
// 31 1/2 pixels.
bool is_inside(const Point& p, std::int64_t distance) {
  const std::int64_t low = distance - pixel / 2, high = window_size * pixel - pixel / 2 - distance;
  return p.x >= low && p.y >= low && p.x <= high && p.y <= high;
}

// The paddles of an attempt to make a picture.
class Board {
 public:
  // Starts a snake with a first paddle. Returns false if there is no room for it.
  bool start(Snake& snake, const Paddle& paddle) { return fits(paddle, paddles_) && add(snake, paddle); }

  // Adds a paddle to the snake. The two paddles meet in a joint, which is paddle_margin away from both. So the joint
  // is paddle_length + 2 paddle_margin away from the previous joint. The direction turns by an angle d with a
  // probability that is proportional to cos²(continuity d), and to 0 beyond a right angle or if there is no room.
  // Returns false if there is no room in any direction.
  bool extend(Snake& snake, std::int64_t& direction, Draws& draws) {
    const Point joint = moved(snake.back().head, direction, paddle_margin);
    struct Choice {
      std::int64_t direction, weight;
      Paddle paddle;
    };
    std::vector<Choice> choices;
    std::int64_t total = 0;
    const std::vector<Paddle> others = near(joint, snake.back());
    for (std::int64_t turn = 1 - right_angle; turn < right_angle; ++turn) {
      const std::int64_t bend = std::min(continuity * std::abs(turn), right_angle);
      const std::int64_t next = (direction + turn + directions) % directions;
      const Paddle paddle = paddle_at(moved(joint, next, paddle_margin), next);
      if (!fits(paddle, others)) continue;
      choices.push_back({next, square(sine(right_angle - bend)), paddle});
      total += choices.back().weight;
    }
    if (total == 0) return false;
    std::int64_t chosen = draws.below(total);
    auto choice = choices.begin();
    for (; chosen >= choice->weight; ++choice) chosen -= choice->weight;
    direction = choice->direction;
    return add(snake, choice->paddle);
  }

  // Removes the paddles that were added last.
  void remove(std::size_t count) { paddles_.resize(paddles_.size() - count); }

 private:
  // Returns whether the paddle is inside the padding and collides with none of the others.
  static bool fits(const Paddle& paddle, const std::vector<Paddle>& others) {
    constexpr std::int64_t border = padding * pixel + paddle_margin + paddle_thickness / 2;
    return is_inside(paddle.tail, border) && is_inside(paddle.head, border) &&
           std::none_of(others.begin(), others.end(), [&](const Paddle& other) { return collide(paddle, other); });
  }

  // Returns the paddles that can collide with a paddle at this joint, without the last paddle of the same snake, which
  // may be nearer.
  std::vector<Paddle> near(const Point& joint, const Paddle& last) const {
    constexpr std::int64_t reach = paddle_margin + 2 * paddle_length + smallest_distance;
    std::vector<Paddle> found;
    for (const Paddle& other : paddles_) {
      const bool is_last = other.tail.x == last.tail.x && other.tail.y == last.tail.y;
      if (!is_last && square(other.tail.x - joint.x) + square(other.tail.y - joint.y) < square(reach))
        found.push_back(other);
    }
    return found;
  }

  bool add(Snake& snake, const Paddle& paddle) {
    snake.push_back(paddle);
    paddles_.push_back(paddle);
    return true;
  }

  std::vector<Paddle> paddles_;
};

// The first contour starts in the middle of the picture, twice the seed distance away from all sides. The second starts
// at the seed distance from the start of the first. Then they grow in turn. Returns false if one of them can't grow.
bool add_contours(Board& board, std::array<Snake, 2>& contours, std::int64_t length, Draws& draws) {
  constexpr std::int64_t side = window_size - 2 * 2 * seed_distance / pixel, first = 2 * seed_distance / pixel;
  std::array<std::int64_t, 2> direction{};
  Paddle seed{};
  do {
    const std::int64_t x = first + draws.below(side), y = first + draws.below(side);
    direction[0] = draws.below(directions);
    seed = paddle_at({x * pixel, y * pixel}, direction[0]);
  } while (!is_inside(seed.head, 2 * seed_distance));
  if (!board.start(contours[0], seed)) return false;
  const Point tail = moved(seed.tail, draws.below(directions), seed_distance);
  direction[1] = draws.below(directions);
  if (!board.start(contours[1], paddle_at(tail, direction[1]))) return false;
  while (std::ssize(contours[1]) < length)
    for (std::size_t i = 0; i < 2; ++i)
      if (!board.extend(contours[i], direction[i], draws)) return false;
  return true;
}

// Adds one distractor at a random place. Returns false, and adds nothing, if the place has too little room.
bool add_distractor(Board& board, Snake& snake, std::int64_t length, Draws& draws) {
  constexpr int tries = 200;
  snake.clear();
  std::int64_t direction = 0;
  for (int i = 0; i < tries && snake.empty(); ++i) {
    direction = draws.below(directions);
    const std::int64_t x = draws.below(window_size), y = draws.below(window_size);
    (void)board.start(snake, paddle_at({x * pixel, y * pixel}, direction));
  }
  while (!snake.empty() && std::ssize(snake) < length)
    if (!board.extend(snake, direction, draws)) break;
  if (std::ssize(snake) == length) return true;
  board.remove(snake.size());
  return false;
}

// Like the published generator, tries to add each distractor five times, and leaves it out if it finds no room.
void add_distractors(Board& board, std::vector<Snake>& snakes, std::int64_t length, Draws& draws) {
  constexpr int tries = 5;
  for (std::int64_t k = 0; k < distractor_paddles / length; ++k) {
    Snake snake;
    for (int i = 0; i < tries && std::ssize(snake) < length; ++i)
      if (add_distractor(board, snake, length, draws)) snakes.push_back(snake);
  }
}

}  // namespace

// Like the published generator, starts again if a contour can't grow.
Snakes random_snakes(const weft::Random& random, std::int64_t contour_length) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Draws draws(random.split(attempt));
    Board board;
    Snakes snakes;
    if (!add_contours(board, snakes.contours, contour_length, draws)) continue;
    add_distractors(board, snakes.distractors, contour_length / distractor_share, draws);
    return snakes;
  }
}

}  // namespace data
