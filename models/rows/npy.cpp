#include "rows/npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/names.h"
#include "rows/label_numbers.h"
#include "rows/picture_files.h"
#include "rows/row_file.h"
#include "text/utf8.h"
#include "weft/detail/utf8_path.h"
#include "weft/error.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY", zip_magic = "PK\x03\x04";

struct Array {
  char kind = 'f';                  // b, i, u, f, U
  std::size_t bytes = 4;            // of an element
  std::vector<std::int64_t> shape;  // (rows, …)
  std::string_view data;
  std::string where;  // for messages

  std::size_t rows() const { return static_cast<std::size_t>(shape[0]); }
  std::size_t row_size() const {  // elements of a row
    std::size_t size = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) size *= static_cast<std::size_t>(shape[i]);
    return size;
  }
};

std::uint64_t little_endian_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

// Returns the text after 'key': in the header, which is a Python dict.
std::string_view value_of(std::string_view header, const std::string& key, const std::string& where) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) throw Error(where + ": the header of the array has no \"" + key + "\"");
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::vector<std::int64_t> shape_of(std::string_view text, const std::string& where) {
  std::vector<std::int64_t> shape;
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    throw Error(where + ": the shape of the array can't be read");
  std::int64_t size = -1, all = 1;
  for (const char c : text.substr(1, end - 1)) {
    if (c >= '0' && c <= '9') size = std::max<std::int64_t>(size, 0) * 10 + (c - '0');
    else if (c == ',' && size >= 0) shape.push_back(std::exchange(size, -1));
    if (size > std::int64_t{1} << 40) throw Error(where + ": the array is too large");
  }
  if (size >= 0) shape.push_back(size);
  for (const std::int64_t s : shape) {
    if (s > (std::int64_t{1} << 40) / all) throw Error(where + ": the array is too large");
    all *= std::max<std::int64_t>(s, 1);
  }
  if (shape.empty()) throw Error(where + ": expected an array of rows, got a single number");
  return shape;
}

Array parsed_array(std::string_view bytes, const std::string& where) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != npy_magic)
    throw Error(where + ": expected an array in NumPy's format");
  const std::size_t width = bytes[6] == 1 ? 2 : 4, begin = 8 + width, length = little_endian_at(bytes, 8, width);
  if (length > bytes.size() - begin) throw Error(where + ": the file is truncated: its header is incomplete");
  const std::string_view header = bytes.substr(begin, length), type = value_of(header, "descr", where);
  if (value_of(header, "fortran_order", where).substr(0, 4) == "True")
    throw Error(where + ": expected an array in C order (numpy.ascontiguousarray makes one)");
  Array array;
  array.where = where;
  array.shape = shape_of(value_of(header, "shape", where), where);
  if (type.size() < 4 || type[0] != '\'' || (type[1] != '<' && type[1] != '|'))
    throw Error(where + ": expected little-endian numbers, got " + std::string(type.substr(0, 12)));
  array.kind = type[2];
  std::size_t digits = 0;
  for (std::size_t i = 3; i < type.size() && type[i] >= '0' && type[i] <= '9' && i < 9; ++i)
    digits = digits * 10 + static_cast<std::size_t>(type[i] - '0');
  array.bytes = array.kind == 'U' ? 4 * digits : digits;
  const bool is_number =
      (array.kind == 'f' && (digits == 4 || digits == 8)) ||
      ((array.kind == 'i' || array.kind == 'u') && (digits == 1 || digits == 2 || digits == 4 || digits == 8)) ||
      (array.kind == 'b' && digits == 1);
  constexpr std::size_t longest_label = 1 << 16;
  if (!is_number && !(array.kind == 'U' && digits > 0 && digits <= longest_label))
    throw Error(where + ": expected an array of integers, booleans, or f32 or f64 numbers, or an array of labels " +
                "that are texts of at most " + std::to_string(longest_label) +
                " characters, got an array of the type " + std::string(type.substr(0, type.find('\'', 1) + 1)));
  array.data = bytes.substr(begin + length);
  const std::size_t expected = array.rows() * array.row_size() * array.bytes;
  if (array.data.size() != expected)
    throw Error(where + ": expected " + std::to_string(expected) + " bytes after the header, got " +
                std::to_string(array.data.size()) + "; is the file truncated?");
  return array;
}

std::uint64_t bits_of(const Array& array, std::size_t i) {
  return little_endian_at(array.data, i * array.bytes, array.bytes);
}

std::int64_t signed_element(const Array& array, std::size_t i) {
  const auto unused = static_cast<int>(64 - 8 * array.bytes);
  return static_cast<std::int64_t>(bits_of(array, i) << unused) >> unused;
}

double element(const Array& array, std::size_t i) {
  const std::uint64_t bits = bits_of(array, i);
  if (array.kind == 'i') return static_cast<double>(signed_element(array, i));
  if (array.kind != 'f') return static_cast<double>(bits);
  if (array.bytes == 8) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return static_cast<double>(value);
}

// Returns an entry of a zip archive (APPNOTE.TXT 6.3.3). numpy.savez stores entries without compression.
std::string_view entry_of(std::string_view zip, const std::string& name, const std::string& where) {
  const std::size_t tail = zip.rfind("PK\x05\x06");
  if (tail == std::string_view::npos || zip.size() - tail < 22) throw Error(where + ": the archive is truncated");
  std::vector<std::string> names;
  std::size_t at = little_endian_at(zip, tail + 16, 4);
  for (std::uint64_t left = little_endian_at(zip, tail + 10, 2); left > 0; --left) {
    if (at + 46 > zip.size()) throw Error(where + ": the archive is damaged");
    const std::size_t name_size = little_endian_at(zip, at + 28, 2);
    const std::string entry(zip.substr(at + 46, name_size));
    const std::uint64_t method = little_endian_at(zip, at + 10, 2), size = little_endian_at(zip, at + 20, 4);
    const std::size_t local = little_endian_at(zip, at + 42, 4);
    at += 46 + name_size + little_endian_at(zip, at + 30, 2) + little_endian_at(zip, at + 32, 2);
    names.push_back(entry.substr(0, entry.rfind(".npy")));
    if (names.back() != name) continue;
    if (method != 0)
      throw Error(where + ": the array \"" + name + "\" is compressed; expected numpy.savez, not savez_compressed");
    if (local + 30 > zip.size()) throw Error(where + ": the archive is damaged");
    const std::size_t data = local + 30 + little_endian_at(zip, local + 26, 2) + little_endian_at(zip, local + 28, 2);
    if (data > zip.size() || size > zip.size() - data) throw Error(where + ": the archive is damaged");
    return zip.substr(data, size);
  }
  throw Error(where + ": expected an array \"" + name + "\", got " + (names.empty() ? "none" : join(names)));
}

Array array_of(std::string_view bytes, const std::string& name, const std::string& where) {
  if (bytes.substr(0, 4) != zip_magic) return parsed_array(bytes, where);
  return parsed_array(entry_of(bytes, name, where), where + ": the array \"" + name + "\"");
}

// Returns the path of the labels. In the file's name, y replaces the last x that has no letter next to it, as in
// train-x.npy or X_test.npy.
std::string npy_labels_path(const std::string& path) {
  const std::size_t begin = path.find_last_of('/') + 1;  // 0 without a folder
  const auto is_letter = [&](std::size_t i) {
    return i < path.size() && std::isalpha(static_cast<unsigned char>(path[i]));
  };
  for (std::size_t i = path.size(); i-- > begin;) {
    const bool stands_alone = !(i > begin && is_letter(i - 1)) && !is_letter(i + 1);
    if ((path[i] != 'x' && path[i] != 'X') || !stands_alone) continue;
    for (const char letter : {path[i] == 'x' ? 'y' : 'Y', 'y'}) {
      std::string labels = path;
      labels[i] = letter;
      if (std::filesystem::exists(path_of(labels))) return labels;
    }
    std::string labels = path;
    labels[i] = 'y';
    throw Error("\"" + labels + "\", the file with the labels of \"" + path + "\", doesn't exist");
  }
  throw Error("\"" + path +
              "\": expected a file name with an x, such as train-x.npy, so that the labels are in train-y.npy");
}

// Returns the label of a row as a text, as in the other formats of labeled texts.
std::string label_of(const Array& labels, std::size_t row) {
  std::string label;
  const std::size_t count = labels.row_size();
  for (std::size_t i = row * count; i < (row + 1) * count; ++i) {
    if (i > row * count) label += ' ';
    if (labels.kind == 'U') {
      for (std::size_t c = 0; c < labels.bytes / 4; ++c)
        if (const std::uint64_t character = little_endian_at(labels.data, i * labels.bytes + 4 * c, 4); character != 0)
          append_utf8(static_cast<char32_t>(character), label);
    } else if (labels.kind == 'f') {
      char text[40];
      std::snprintf(text, sizeof text, "%.9g", element(labels, i));
      label += text;
    } else {
      label += labels.kind == 'i' ? std::to_string(signed_element(labels, i)) : std::to_string(bits_of(labels, i));
    }
  }
  return label;
}

// Returns the frames of a row as bytes of f32 numbers.
std::string frames_of(const Array& x, std::size_t row) {
  std::vector<float> numbers;
  const std::size_t count = x.row_size();
  for (std::size_t i = row * count; i < (row + 1) * count; ++i) {
    numbers.push_back(static_cast<float>(element(x, i)));
    if (!std::isfinite(numbers.back()))
      throw Error(x.where + ": row " + std::to_string(row + 1) + ": a number is not finite");
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

LabeledTexts rows_of(const Array& x) {
  LabeledTexts all;
  const bool are_pictures = (x.kind == 'u' && x.bytes == 1 && x.shape.size() == 3) || x.shape.size() == 4;
  const bool is_usable =
      are_pictures ? x.kind == 'u' && x.bytes == 1 : x.kind != 'U' && (x.shape.size() == 2 || x.shape.size() == 3);
  if (!is_usable || x.row_size() == 0)
    throw Error(x.where + ": expected an array of numbers with the shape (rows, n) or (rows, n, channels), or " +
                "pictures as an array of the type u1 with the shape (rows, height, width) or " +
                "(rows, height, width, channels), got an array of the type " + std::string(1, x.kind) +
                std::to_string(x.kind == 'U' ? x.bytes / 4 : x.bytes) + " with the shape " + to_string(x.shape));
  if (are_pictures) {
    all.picture = {x.shape[1], x.shape[2], x.shape.size() == 4 ? x.shape[3] : 1};
    for (std::size_t row = 0; row < x.rows(); ++row)
      all.texts.emplace_back(x.data.substr(row * x.row_size(), x.row_size()));
    all.format = "NumPy, " + describe_pictures(all.picture);
    return all;
  }
  all.channels = x.shape.size() == 3 ? x.shape[2] : 1;
  for (std::size_t row = 0; row < x.rows(); ++row) all.texts.push_back(frames_of(x, row));
  all.format = "NumPy, " + std::to_string(x.shape[1]) + " frames of " + std::to_string(all.channels) +
               (all.channels == 1 ? " number" : " numbers");
  return all;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.substr(0, 6) == npy_magic || bytes.substr(0, 4) == zip_magic; }

LabeledTexts npy_rows(std::string_view bytes, const std::string& where) { return rows_of(array_of(bytes, "x", where)); }

LabeledTexts read_npy(const std::string& path, std::string_view bytes, const LabeledOptions& options) {
  const std::string where = "\"" + path + "\"";
  check_number_options(options, where);
  LabeledTexts all = npy_rows(bytes, where);
  FileBytes of_labels;
  const bool is_archive = bytes.substr(0, 4) == zip_magic;
  const std::string path_of_labels = is_archive ? path : npy_labels_path(path);
  if (!is_archive) of_labels = bytes_of(path_of_labels);
  const Array y = array_of(is_archive ? bytes : of_labels.view(), "y", "\"" + path_of_labels + "\"");
  if (y.rows() != all.texts.size() || y.shape.size() > 2 || y.row_size() == 0)
    throw Error(y.where + ": expected a label for each of " + std::to_string(all.texts.size()) + " rows, got " +
                std::to_string(y.rows()) + " rows and " + std::to_string(y.shape.size()) + " axes");
  LabelNumbers labels(options.labels);
  for (std::size_t row = 0; row < y.rows(); ++row) {
    const std::string label = label_of(y, row), refusal = labels.refusal(label);
    if (!refusal.empty()) throw Error(y.where + ": row " + std::to_string(row + 1) + ": " + refusal);
    all.labels.push_back(labels.of(label));
  }
  if (all.texts.empty()) throw Error(where + " has no rows");
  all.names = labels.sort(all.labels);
  return all;
}

}  // namespace weft::detail
