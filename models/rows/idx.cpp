#include "rows/idx.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/names.h"
#include "rows/label_numbers.h"
#include "rows/picture_files.h"
#include "rows/row_file.h"
#include "weft/detail/utf8_path.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

constexpr unsigned char unsigned_bytes = 8;  // the type of the values
constexpr std::int64_t largest_side = 1 << 14;

// The sizes of a file's axes, and its values. Axes that the file doesn't have are of size 1.
struct Idx {
  std::array<std::int64_t, 4> size = {1, 1, 1, 1};
  std::string_view values;
};

bool begins(std::string_view bytes, unsigned char axes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == unsigned_bytes &&
         static_cast<unsigned char>(bytes[3]) == axes;
}

Idx parsed(std::string_view bytes, const std::string& where) {
  const auto axes = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3])), header = 4 + 4 * axes;
  if (bytes.size() < header) throw Error(where + ": the file is truncated: its header is incomplete");
  Idx idx;
  std::int64_t expected = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size * 256 + static_cast<unsigned char>(bytes[4 + 4 * axis + i]);
    if (axis > 0 && (size < 1 || size > largest_side))
      throw Error(where + ": expected sides of 1 to " + std::to_string(largest_side) + ", got " + std::to_string(size));
    idx.size[axis] = size;
    expected *= size;  // below 2^32 · 2^14 · 2^14 for the first three axes
    if (expected > std::int64_t{1} << 48) break;
  }
  idx.values = bytes.substr(header);
  if (static_cast<std::int64_t>(idx.values.size()) != expected)
    throw Error(where + ": expected " + std::to_string(expected) + " bytes after the header, got " +
                std::to_string(idx.values.size()) + "; is the file truncated?");
  return idx;
}

// Returns the path of the file with the labels, or an empty text if the path of the pictures doesn't determine it.
std::string labels_path(std::string path) {
  for (const char separator : {'-', '.'}) {
    const std::string images = std::string("images") + separator + "idx3";
    const std::size_t at = path.rfind(images);
    if (at != std::string::npos) return path.replace(at, images.size(), std::string("labels") + separator + "idx1");
  }
  return "";
}

std::vector<std::int64_t> read_labels(const std::string& pictures, std::int64_t count) {
  const std::string path = labels_path(pictures);
  if (path.empty())
    throw Error(
        "\"" + pictures +
        "\": expected a file name with images-idx3, because the name of the file with the labels follows from it");
  const std::string where = "\"" + path + "\"";
  if (!std::filesystem::exists(path_of(path)))
    throw Error(where + ", the file with the labels of \"" + pictures + "\", doesn't exist");
  const FileBytes bytes = bytes_of(path);
  if (!begins(bytes.view(), 1)) throw Error(where + ": expected labels in the IDX format (bytes with one axis)");
  const Idx labels = parsed(bytes.view(), where);
  if (labels.size[0] != count)
    throw Error(where + ": expected a label for each of " + std::to_string(count) + " pictures, got " +
                std::to_string(labels.size[0]));
  std::vector<std::int64_t> all;
  for (const char label : labels.values) all.push_back(static_cast<unsigned char>(label));
  return all;
}

// Returns the known names or, if there are none, the numbers 0 … the highest label.
std::vector<std::string> names_of(const std::vector<std::int64_t>& labels, const std::vector<std::string>& known,
                                  const std::string& where) {
  std::vector<std::string> names = known;
  const std::int64_t highest = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end());
  if (known.empty())
    for (std::int64_t i = 0; i <= highest; ++i) names.push_back(std::to_string(i));
  if (highest >= std::ssize(names))
    throw Error(where + ": the label is " + std::to_string(highest) + ", expected one of " + join(names));
  return names;
}

}  // namespace

bool is_idx_of_pictures(std::string_view bytes) { return begins(bytes, 3) || begins(bytes, 4); }

LabeledTexts idx_pictures(std::string_view bytes, const std::string& where) {
  const Idx idx = parsed(bytes, where);
  LabeledTexts all;
  all.picture = {idx.size[1], idx.size[2], idx.size[3]};
  const auto size = static_cast<std::size_t>(all.picture.height * all.picture.width * all.picture.channels);
  for (std::size_t at = 0; at < idx.values.size(); at += size) all.texts.emplace_back(idx.values.substr(at, size));
  all.format = "IDX, " + describe_pictures(all.picture);
  return all;
}

LabeledTexts read_idx(const std::string& path, std::string_view bytes, const LabeledOptions& options) {
  const std::string where = "\"" + path + "\"";
  check_number_options(options, where);
  LabeledTexts all = idx_pictures(bytes, where);
  if (all.texts.empty()) throw Error(where + " has no pictures");
  all.labels = read_labels(path, std::ssize(all.texts));
  all.names = names_of(all.labels, options.labels, where);
  return all;
}

}  // namespace weft::detail
