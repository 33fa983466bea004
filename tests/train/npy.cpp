// Tests of NumPy's arrays as rows: pictures, sequences of frames, and their labels.
#include <doctest/doctest.h>

#include <cmath>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "wav_files.h"
#include "weft/checkpoint.h"
#include "weft/detail/byte_order.h"
#include "weft/frame_rows.h"
#include "weft/predict.h"

namespace weft::test {
namespace {

using Strings = std::vector<std::string>;

// A file as numpy.save writes it.
std::string npy_of(const std::string& type, const std::string& shape, const std::string& data, bool fortran = false) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + little_endian(header.size(), 2) + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
  detail::swap_byte_order(bytes.data(), numbers.size(), sizeof(T));
  return bytes;
}

// A row of frames, as weft keeps it in memory.
std::string row_of(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

// A file as numpy.savez writes it, but without checksums. If `method` is 8, it is compressed.
std::string npz_of(const std::vector<std::pair<std::string, std::string>>& arrays, int method = 0) {
  std::string zip, directory;
  for (const auto& [name, data] : arrays) {
    const std::string entry = name + ".npy", size = little_endian(data.size(), 4);
    const std::string common = little_endian(20, 2) + little_endian(0, 2) +
                               little_endian(static_cast<std::uint64_t>(method), 2) + std::string(8, '\0') + size +
                               size + little_endian(entry.size(), 2) + little_endian(0, 2);
    directory +=
        "PK\x01\x02" + little_endian(20, 2) + common + std::string(10, '\0') + little_endian(zip.size(), 4) + entry;
    zip += "PK\x03\x04" + common + entry + data;
  }
  return zip + directory + "PK\x05\x06" + std::string(4, '\0') + little_endian(arrays.size(), 2) +
         little_endian(arrays.size(), 2) + little_endian(directory.size(), 4) + little_endian(zip.size(), 4) +
         std::string(2, '\0');
}

std::vector<float> row(const LabeledTexts& rows, std::size_t k) {
  InputSpec input;
  input.channels = rows.channels;
  return frames_of_row(rows.texts[k], input).to_vector<float>();
}

std::string label(const LabeledTexts& rows, std::size_t k) {
  return rows.names[static_cast<std::size_t>(rows.labels[k])];
}

std::string refused_npy(const std::string& path) {
  return error_of([&] { (void)read_labeled(path); });
}

}  // namespace

TEST_CASE("NumPy: sequences of every type of numbers, with labels in the file next to them") {
  const TemporaryFolder folder;
  folder.write("train-y.npy", npy_of("<i8", "(2,)", bytes_of<std::int64_t>({7, -1})));
  const auto with = [&](const std::string& type, const std::string& data) {
    folder.write("train-x.npy", npy_of(type, "(2, 2, 3)", data));
    return read_labeled(folder / "train-x.npy");
  };
  const std::vector<float> expected{4, 5, 6, 1, 2, 3};
  for (const LabeledTexts& rows : {with("<f4", bytes_of<float>({1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3})),
                                   with("<f8", bytes_of<double>({1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3})),
                                   with("<i4", bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3})),
                                   with("<i2", bytes_of<std::int16_t>({1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3}))}) {
    CHECK(rows.format == "NumPy, 2 frames of 3 numbers");
    CHECK(rows.content() == RowContent::frames);
    CHECK(rows.channels == 3);
    CHECK(row(rows, 1) == expected);
    CHECK(label(rows, 0) == "7");
    CHECK(rows.names == Strings{"-1", "7"});
  }
  CHECK(row(with("|i1", std::string(12, '\xFE')), 0) == std::vector<float>(6, -2));
  // Labels are exact, also where a double is not.
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  folder.write("train-y.npy", npy_of("<i8", "(2,)", bytes_of<std::int64_t>({large, -large - 2})));
  const LabeledTexts rows = with("|i1", std::string(12, '\xFE'));
  CHECK(label(rows, 0) == "9007199254740993");
  CHECK(label(rows, 1) == "-9007199254740995");
  folder.write("train-y.npy", npy_of("<u8", "(2,)", std::string(16, '\xFF')));
  CHECK(label(with("|i1", std::string(12, '\xFE')), 0) == "18446744073709551615");
  folder.write("train-x.npy", npy_of("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4})));
  CHECK(read_labeled(folder / "train-x.npy").channels == 1);
}

TEST_CASE("NumPy: pictures, text labels and numbers, in a .npz") {
  const TemporaryFolder folder;
  const std::string x = npy_of("|u1", "(2, 2, 3)", "abcdefghijkl");
  const std::string names = npy_of("<U3", "(2,)", std::string("c\0\0\0a\0\0\0t\0\0\0\xFC\0\0\0\0\0\0\0\0\0\0\0", 24));
  folder.write("a.npz", npz_of({{"x", x}, {"y", names}}));
  const LabeledTexts rows = read_labeled(folder / "a.npz");
  CHECK(rows.format == "NumPy, pictures of 2 x 3 pixels");
  CHECK(rows.texts == Strings{"abcdef", "ghijkl"});
  CHECK(label(rows, 0) == "cat");
  CHECK(label(rows, 1) == "ü");
  folder.write("b.npz", npz_of({{"y", npy_of("<f4", "(2, 2)", bytes_of<float>({0.5, -3, 2, 1e-8F}))}, {"x", x}}));
  CHECK(label(read_labeled(folder / "b.npz"), 0) == "0.5 -3");
  CHECK(label(read_labeled(folder / "b.npz"), 1) == "2 9.99999994e-09");
  const auto unlabeled = TextRows::open(folder / "a.npz");
  REQUIRE(unlabeled);
  CHECK(unlabeled->content() == RowContent::pictures);
  std::string text;
  CHECK((unlabeled->next(text) && text == "abcdef"));
  // Color pictures.
  folder.write("X_test.npy", npy_of("|u1", "(1, 1, 2, 3)", "abcdef"));
  folder.write("y_test.npy", npy_of("|u1", "(1,)", "\x05"));
  CHECK(read_labeled(folder / "X_test.npy").picture.channels == 3);
  CHECK(label(read_labeled(folder / "X_test.npy"), 0) == "5");
}

TEST_CASE("NumPy: damaged and unusable files are refused, and the error names the problem") {
  const TemporaryFolder folder;
  const std::string good = npy_of("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4}));
  folder.write("y.npy", npy_of("<i8", "(2,)", bytes_of<std::int64_t>({0, 1})));
  const std::string path = folder / "x.npy";
  const auto with = [&](const std::string& bytes) {
    folder.write("x.npy", bytes);
    return refused_npy(path);
  };
  CHECK(with(good).empty());
  LabeledOptions known;
  known.labels = {"0", "2"};
  CHECK(contains(error_of([&] { (void)read_labeled(path, known); }), "y.npy\": row 2: the label is \"1\", expected"));
  for (std::size_t size = 6; size < good.size(); ++size) CHECK(contains(with(good.substr(0, size)), path));
  CHECK(contains(with(good.substr(0, good.size() - 1)), "expected 16 bytes after the header, got 15"));
  CHECK(contains(with(npy_of("<f4", "(2, 2)", bytes_of<float>({1, 2, NAN, 4}))), "row 2: a number is not finite"));
  CHECK(contains(with(npy_of(">f4", "(2, 2)", std::string(16, '\0'))), "expected little-endian numbers"));
  CHECK(contains(with(npy_of("<c8", "(2, 1)", std::string(16, '\0'))), "got an array of the type '<c8'"));
  CHECK(contains(with(npy_of("<f4", "(2, 2)", std::string(16, '\0'), true)), "expected an array in C order"));
  CHECK(contains(with(npy_of("<f4", "()", std::string(4, '\0'))), "got a single number"));
  CHECK(contains(with(npy_of("<f4", "(4,)", std::string(16, '\0'))), "the type f4 with the shape (4,)"));
  CHECK(contains(with(npy_of("<f4", "(1, 2, 2, 1)", std::string(16, '\0'))), "type f4 with the shape (1, 2, 2, 1)"));
  CHECK(contains(with(npy_of("<f4", "(1099511627776, 1099511627776)", "")), "the array is too large"));
  CHECK(contains(with(npy_of("<f4", "(3, 2)", std::string(24, '\0'))), "expected a label for each of 3 rows, got 2"));
  CHECK(contains(with(npy_of("<f4", "(1, 2)", std::string(8, '\0'))), "expected a label for each of 1 rows, got 2"));
  folder.write("table.npy", good);
  CHECK(contains(refused_npy(folder / "table.npy"), "expected a file name with an x"));
  folder.write("other-x.npy", good);
  CHECK(contains(refused_npy(folder / "other-x.npy"), "other-y.npy\", the file with the labels of"));
  folder.write("a.npz", npz_of({{"x", good}, {"z", good}}));
  CHECK(contains(refused_npy(folder / "a.npz"), "expected an array \"y\", got x, z"));
  folder.write("a.npz", npz_of({{"x", good}}, 8));
  CHECK(contains(refused_npy(folder / "a.npz"), "expected numpy.savez, not savez_compressed"));
  folder.write("a.npz", "PK\x03\x04PK\x05\x06" + std::string(18, '\0'));
  CHECK(contains(refused_npy(folder / "a.npz"), "expected an array \"x\", got none"));
  const std::string archive = npz_of({{"x", good}, {"y", good}});
  for (std::size_t size = 4; size < archive.size(); size += 7) {
    folder.write("a.npz", archive.substr(0, size));
    CHECK(contains(refused_npy(folder / "a.npz"), "a.npz"));
  }
}

TEST_CASE("frame rows: regression, several labels and tags of sequences, and truncated rows") {
  LabeledTexts rows;
  rows.channels = 1;
  for (int k = 0; k < 6; ++k) {
    rows.texts.push_back(row_of({static_cast<float>(k), 1, 2}));
    rows.labels.push_back(k);
    rows.names.push_back(std::to_string(k) + ".5");
  }
  const InputSpec input = frame_input(rows);
  CHECK(input.mean[0] == doctest::Approx((2.5 + 1 + 2) / 3));
  CHECK(input.deviation[0] == doctest::Approx(std::sqrt(85.0 / 18 - 33.0 * 33 / 18 / 18)));
  CHECK(longest_row(rows, input) == 3);
  LabeledTexts far = rows;  // a large offset doesn't reduce the precision
  far.texts.clear();
  for (int k = 0; k < 6; ++k) far.texts.push_back(row_of({1.6e7F + static_cast<float>(2 * k)}));
  CHECK(frame_input(far).deviation[0] == doctest::Approx(std::sqrt(35.0 / 3)));
  CHECK(frame_input(far).mean[0] == doctest::Approx(1.6e7 + 5).epsilon(1e-12));
  const auto numbers = frame_data({}, rows, find_targets(Task::regression, rows), input, 2, 6);
  const Batch batch = numbers->validation(0);
  CHECK(batch.frames.shape() == Shape{6, 2, 1});  // truncated to 2 frames
  CHECK(batch.target.to_vector<float>() == std::vector<float>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5});

  // A model predicts from as many frames as it had in training.
  const TemporaryFolder folder;
  const auto model =
      make_model({"tnn", Task::regression, 0, 1, R"({"d_model":4,"layers":1})", input}, {Random(3), DType::f32});
  CheckpointInfo info;
  info.labels = {"value"};
  info.length = 2;
  save_checkpoint(folder / "model", *model, *no_tokenizer(), info);
  const Predictor predictor(load_checkpoint(folder / "model", Purpose::inference));
  const Tensor output = model->forward({{}, reshape(frames_of_row(rows.texts[1], input, 2), {1, 2, 1})});
  CHECK(predictor.numbers(rows.texts[1]).at(0) == doctest::Approx(output.item()).epsilon(1e-6));

  for (std::string& name : rows.names) name = "a b " + name;
  const auto tags = frame_data({}, rows, find_targets(Task::tagging, rows), input, 2, 6);
  CHECK(tags->validation(0).target.shape() == Shape{6, 2});
  rows.names[3] = "a";
  CHECK(contains(
      error_of([&] { (void)frame_data({}, rows, find_targets(Task::tagging, rows), input, 3, 6)->validation(0); }),
      "row 4: expected one tag for each of 3 frames, got 1"));
  rows.names[3] = "x";
  CHECK(contains(error_of([&] { (void)find_targets(Task::regression, rows); }), "of the row 1: expected numbers"));

  LabeledTexts sounds;
  sounds.rate = 8000;
  sounds.texts = {tone(1)};
  sounds.labels = {0};
  sounds.names = {"a"};
  CHECK(contains(error_of([&] {
                   (void)frame_data({}, sounds, {Task::classifier, {"a"}}, input, 3, 1);
                 }),
                 "expected frames of numbers, got sounds"));
  CHECK(contains(error_of([&] {
                   (void)frame_data({}, rows, {Task::classifier, rows.names}, input, 3, 1, {true, 0});
                 }),
                 "only pictures can be flipped or shifted"));
  CHECK(contains(error_of([&] { (void)frames_of_row("abc", input); }), "frames of 1 numbers, got 3 bytes"));
}

}  // namespace weft::test
