#include "console/nearest.h"

#include <algorithm>

namespace {

// Returns the optimal string alignment distance. d[i][j] is the distance between the first i letters of a and the first
// j letters of b.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t changed = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& typed, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 60;  // maximum length of a name; a longer text gets no suggestion
  if (typed.size() > longest) return "";
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t letters = distance(typed, name);
    if (letters >= fewest || letters >= name.size()) continue;
    fewest = letters;
    best = name;
  }
  if (!best.empty() || typed.size() < 3) return best;
  const auto begins = [&](const std::string& name) { return name.rfind(typed, 0) == 0; };
  const auto found = std::find_if(names.begin(), names.end(), begins);
  return found == names.end() ? "" : *found;
}
