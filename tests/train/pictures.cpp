// Tests of labeled pictures: the IDX format, normalization, augmentation, training and classification.
#include "weft/pictures.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "contains.h"
#include "idx_files.h"
#include "op_table.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/classifier.h"

namespace weft::test {
namespace {

std::string refused_pictures(const std::string& path, const LabeledOptions& options = {}) {
  return error_of([&] { (void)read_labeled(path, options); });
}

LabeledTexts small_pictures(std::int64_t first, std::int64_t count) {
  const TemporaryFolder folder;
  return read_labeled(write_pictures(folder, "small", first, count));
}

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

}  // namespace

TEST_CASE("pictures: IDX files with their labels") {
  const TemporaryFolder folder;
  const std::string path = write_pictures(folder, "train", 0, 7);
  const LabeledTexts rows = read_labeled(path);
  CHECK(rows.format == "IDX, pictures of 4 x 6 pixels");
  CHECK(rows.picture.height == 4);
  CHECK(rows.picture.width == 6);
  CHECK(rows.picture.channels == 1);
  CHECK(rows.names == std::vector<std::string>{"0", "1", "2"});
  CHECK(rows.labels == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0});
  CHECK(rows.texts[4] == small_picture(4));
  LabeledOptions named;
  named.labels = {"left", "right", "all", "none"};
  CHECK(read_labeled(path, named).names == named.labels);
  const auto unlabeled = TextRows::open(path);
  std::string pixels;
  for (int k = 0; k < 7; ++k) {
    REQUIRE(unlabeled->next(pixels));
    CHECK(pixels == small_picture(k));
  }
  CHECK_FALSE(unlabeled->next(pixels));
  CHECK(unlabeled->content() == RowContent::pictures);

  // Color pictures, and names with dots instead of dashes.
  folder.write("c.images.idx3", idx_header({1, 2, 1, 3}) + "abcdef");
  folder.write("c.labels.idx1", idx_header({1}) + std::string(1, '\0'));
  const LabeledTexts colors = read_labeled(folder / "c.images.idx3");
  CHECK(colors.picture.channels == 3);
  CHECK(colors.format == "IDX, pictures of 2 x 1 pixels with 3 channels");
  const Tensor picture = picture_tensor(colors.texts[0], picture_input(colors, 1));
  CHECK(picture.shape() == Shape{2, 1, 3});
  CHECK(values(picture) == std::vector<float>{'a', 'b', 'c', 'd', 'e', 'f'});
}

// A file format that only these tests know: "PIC", then height, width and channels as digits, then the pixels.
void decode_test_pictures() {
  static const bool once = [] {
    register_picture_decoder(
        {"test", "PIC", [](std::string_view bytes) {
           if (bytes.size() < 6) throw Error("a picture that is cut off");
           return Picture{{bytes[3] - '0', bytes[4] - '0', bytes[5] - '0'}, std::string(bytes.substr(6))};
         }});
    return true;
  }();
  (void)once;
}

TEST_CASE("pictures: a folder for each label, with a decoder that the program defines") {
  decode_test_pictures();
  const TemporaryFolder folder;
  folder.write("d/dog/1", "PIC121ab");
  folder.write("d/cat/2", "PIC123rgbRGB");
  folder.write("d/cat/3", "PIC121cd");
  const LabeledTexts rows = read_labeled(folder / "d");
  CHECK(rows.format == "a folder for each label, pictures of 1 x 2 pixels with 3 channels");
  CHECK(rows.names == std::vector<std::string>{"cat", "dog"});
  CHECK(rows.labels == std::vector<std::int64_t>{0, 0, 1});
  CHECK(rows.texts == std::vector<std::string>{"rgbRGB", "cccddd", "aaabbb"});  // gray pictures are converted to color
  CHECK(rows.picture.channels == 3);

  const auto unlabeled = TextRows::open(folder / "d");
  REQUIRE(unlabeled);
  CHECK(unlabeled->format() == "a folder, pictures of 1 x 2 pixels with 3 channels");
  std::string pixels;
  std::vector<std::string> fields;
  for (const char* expected : {"cat/2", "cat/3", "dog/1"}) {
    REQUIRE(unlabeled->next(pixels, &fields));
    CHECK(fields == std::vector<std::string>{folder / ("d/" + std::string(expected))});
  }
  CHECK(pixels == "aaabbb");
  CHECK_FALSE(unlabeled->next(pixels));
  const auto one = TextRows::open(folder / "d/dog/1");
  REQUIRE(one);
  CHECK(one->content() == RowContent::pictures);
  CHECK((one->next(pixels) && pixels == "ab"));
}

TEST_CASE("pictures: hidden files, and texts next to pictures, are not rows") {
  decode_test_pictures();
  const TemporaryFolder folder;
  folder.write("d/cat/2", "PIC121ab");
  folder.write("d/cat/3", "PIC121cd");
  folder.write("d/cat/README", "These are cats.");  // the first file in order
  folder.write("d/dog/.DS_Store", std::string("\0\0", 2));
  folder.write("d/dog/1", "PIC121ef");
  folder.write("d/dog/Thumbs.db", std::string("\0\0", 2));
  folder.write("d/dog/notes.TXT", "These are dogs.");
  const LabeledTexts rows = read_labeled(folder / "d");
  CHECK(rows.texts == std::vector<std::string>{"ab", "cd", "ef"});
  CHECK(rows.labels == std::vector<std::int64_t>{0, 0, 1});
  CHECK(rows.ignored == 4);
  CHECK(rows.skipped == 0);
  folder.write("d/.thumbnails/1", "PIC121xy");
  const auto unlabeled = TextRows::open(folder / "d");
  REQUIRE(unlabeled);
  CHECK(unlabeled->format() == "a folder, pictures of 1 x 2 pixels; 4 other files ignored");
  std::string pixels;
  int count = 0;
  while (unlabeled->next(pixels)) ++count;
  CHECK(count == 3);
  folder.write("t/a/1.txt", "one");  // a picture among texts doesn't turn them into pictures
  folder.write("t/a/2.txt", "two");
  folder.write("t/a/3", "PIC121\xFF\xFF");
  CHECK(contains(refused_pictures(folder / "t"), "t/a/3\": invalid UTF-8"));
}

TEST_CASE("pictures: files in folders that can't be used are refused by name, or skipped") {
  decode_test_pictures();
  const TemporaryFolder folder;
  folder.write("d/a/1", "PIC121ab");
  const auto with = [&](const std::string& bytes) {
    folder.write("d/b/2", bytes);
    LabeledOptions skip;
    skip.skip_bad_rows = true;
    const std::string error = refused_pictures(folder / "d");
    if (contains(error, "--skip-bad-rows")) {
      CHECK(read_labeled(folder / "d", skip).skipped == 1);
      CHECK(contains(error, "d/b/2\": "));
    }
    return error;
  };
  CHECK(contains(with("PIC"), "a picture that is cut off"));
  CHECK(contains(with("PIC131abc"), "expected a picture of 1 x 2 pixels, like those before it, got 1 x 3"));
  CHECK(contains(with("PIC221abcd"), "expected a picture of 1 x 2 pixels, like those before it, got 2 x 2"));
  CHECK(contains(with("PIC121a"), "expected a picture with sides of 1 to"));
  CHECK(contains(with("PIC122abcd"), "1 or 3 channels, got pictures of 1 x 2 pixels with 2 channels"));
  CHECK(contains(with("a text"), "expected a picture like the files before it"));
  CHECK(contains(with("\xFF\xD8\xFF"), "this program can't read JPEG pictures"));
  CHECK_THROWS_WITH_AS(register_picture_decoder({"test", "PIC", [](std::string_view) { return Picture(); }}),
                       "[pictures] there is already a decoder \"test\"", Error);
  CHECK_THROWS_AS(register_picture_decoder({"other", "", [](std::string_view) { return Picture(); }}), Error);
}

TEST_CASE("pictures: damaged files are refused by name") {
  const TemporaryFolder folder;
  const std::string path = write_pictures(folder, "train", 0, 7), labels = folder / "train-labels-idx1-ubyte";
  const std::string good = folder.read("train-images-idx3-ubyte"), good_labels = folder.read("train-labels-idx1-ubyte");
  const auto with = [&](const std::string& pictures, const std::string& of_labels) {
    folder.write("train-images-idx3-ubyte", pictures);
    folder.write("train-labels-idx1-ubyte", of_labels);
    return refused_pictures(path);
  };
  CHECK(with(good, good_labels).empty());
  CHECK(contains(with(good.substr(0, good.size() - 1), good_labels),
                 "\"" + path + "\": expected 168 bytes after the header, got 167; is the file truncated?"));
  CHECK(contains(with(good + "x", good_labels), "got 169"));
  CHECK(contains(with(good.substr(0, 9), good_labels), "its header is incomplete"));
  CHECK(contains(with(idx_header({0, 4, 6}), idx_header({0})), "has no pictures"));
  CHECK(contains(with(idx_header({1, 0, 6}), good_labels), "expected sides of 1 to 16384, got 0"));
  CHECK(contains(with(idx_header({1, 4, 0xFFFFFFFF}), good_labels), "got 4294967295"));
  CHECK(contains(with(idx_header({0xFFFFFFFF, 16384, 16384}), good_labels), "is the file truncated?"));
  CHECK(contains(with(good, good_labels.substr(0, 10)), labels + "\": expected 7 bytes after the header, got 2"));
  CHECK(contains(with(good, idx_header({6}) + "abcdef"), "a label for each of 7 pictures, got 6"));
  CHECK(contains(with(good, good), "expected labels in the IDX format"));
  CHECK(contains(with(good, ""), "expected labels in the IDX format"));
  folder.write("train-images-idx3-ubyte", good);
  std::filesystem::remove(labels);
  CHECK(contains(refused_pictures(path), labels + "\", the file with the labels of \"" + path + "\", doesn't exist"));
  folder.write("train-labels-idx1-ubyte", good_labels);
  CHECK(contains(with(good, idx_header({8}) + std::string(8, '\0')), "a label for each of 7 pictures, got 8"));
  CHECK(with(good, good_labels).empty());
  LabeledOptions few;
  few.labels = {"a", "b"};
  CHECK(contains(refused_pictures(path, few), "the label is 2, expected one of a, b"));
  LabeledOptions header;
  header.header = true;
  CHECK(contains(refused_pictures(path, header), "pictures and arrays have no header"));
  LabeledOptions skip;
  skip.skip_bad_rows = true;
  CHECK(contains(refused_pictures(path, skip), "--skip-bad-rows can't skip any of its rows"));
  CHECK_THROWS_WITH_AS((void)TextRows::open(path, skip), doctest::Contains("--skip-bad-rows can't skip"), Error);
  folder.write("other", good);
  CHECK(contains(refused_pictures(folder / "other"), "expected a file name with images-idx3"));
  LabeledOptions idx;
  idx.format = DataFormat::idx;
  folder.write("text.csv", "a,b\n");
  CHECK(contains(refused_pictures(folder / "text.csv", idx), "expected pictures in the IDX format"));
  CHECK(contains(error_of([&] { (void)TextRows::open(folder / "text.csv", idx); }), "expected pictures"));
}

TEST_CASE("pictures: the input's mean and deviation are those of all pixels") {
  const LabeledTexts rows = small_pictures(0, 5);
  const InputSpec input = picture_input(rows, 2);
  double sum = 0, squares = 0;
  for (const std::string& pixels : rows.texts)
    for (const char pixel : pixels) sum += static_cast<unsigned char>(pixel) / 120.0;
  for (const std::string& pixels : rows.texts)
    for (const char pixel : pixels) squares += std::pow(static_cast<unsigned char>(pixel) - sum, 2) / 120;
  CHECK(input.mean[0] == doctest::Approx(sum));
  CHECK(input.deviation[0] == doctest::Approx(std::sqrt(squares)));
  CHECK(input.patches() == 6);
  CHECK_THROWS_AS((void)picture_input(rows, 3), Error);
  CHECK_THROWS_AS((void)picture_input({}, 1), Error);
}

TEST_CASE("pictures: the default patch is the smallest that gives at most 64 patches") {
  CHECK(usual_patch({28, 28, 1}) == 4);
  CHECK(usual_patch({8, 8, 3}) == 1);
  CHECK(usual_patch({64, 32, 1}) == 8);
  CHECK(usual_patch({18, 12, 1}) == 2);  // 54 patches
  CHECK(usual_patch({29, 31, 1}) == 1);  // no other patch size divides both
  CHECK(usual_patch({1, 100, 1}) == 1);
}

TEST_CASE("pictures: augmentation mirrors and shifts, with the same result for the same step, and only in training") {
  const LabeledTexts rows = small_pictures(0, 4);
  const InputSpec input = picture_input(rows, 2);
  const auto moved = [&](std::int64_t k, bool mirrored, std::int64_t down, std::int64_t right) {
    std::vector<float> to(24, 0);
    for (std::int64_t row = 0; row < 4; ++row)
      for (std::int64_t column = 0; column < 6; ++column) {
        const std::int64_t from_row = row - down, from = column - right;
        if (from_row < 0 || from_row >= 4 || from < 0 || from >= 6) continue;
        const std::string pixels = small_picture(k);
        to[static_cast<std::size_t>(row * 6 + column)] =
            static_cast<unsigned char>(pixels[static_cast<std::size_t>(from_row * 6 + (mirrored ? 5 - from : from))]);
      }
    return to;
  };
  const auto data = picture_data(rows, rows, input, 4, {true, 1});
  std::set<std::vector<float>> seen;
  for (std::int64_t k = 0; k < 40; ++k) {
    const Batch batch = data->training(k, Random(3));
    CHECK(same_bits(batch.frames, data->training(k, Random(3)).frames));
    for (std::int64_t row = 0; row < 4; ++row) {
      const auto picture = values(slice(batch.frames, 0, row, row + 1));
      bool found = false;
      for (std::int64_t i = 0; i < 4; ++i)
        for (const bool mirrored : {false, true})
          for (std::int64_t down = -1; down <= 1; ++down)
            for (std::int64_t right = -1; right <= 1; ++right)
              found = found || picture == moved(i, mirrored, down, right);
      CHECK(found);
      seen.insert(picture);
    }
  }
  CHECK(seen.size() > 50);  // of 4 · 2 · 9 possible results
  CHECK(values(data->validation(0).frames).size() == 96);
  for (std::int64_t row = 0; row < 4; ++row)
    CHECK(values(slice(data->validation(0).frames, 0, row, row + 1)) == moved(row, false, 0, 0));
  CHECK(data->fingerprint() != picture_data(rows, rows, input, 4)->fingerprint());
  CHECK_THROWS_AS((void)picture_data(rows, rows, input, 4, {false, 4}), Error);
  CHECK_THROWS_AS((void)picture_data(rows, rows, input, 4, {false, -1}), Error);
}

TEST_CASE("pictures: sets with different kinds of pictures are refused") {
  const LabeledTexts rows = small_pictures(0, 6);
  InputSpec input = picture_input(rows, 2);
  LabeledTexts other = rows;
  other.names = {"a", "b", "c"};
  CHECK(contains(error_of([&] { (void)picture_data(rows, other, input, 2); }), "has different labels"));
  other = rows;
  other.picture.width = 4;
  CHECK(contains(error_of([&] { (void)picture_data(rows, other, input, 2); }),
                 "expected pictures of 4 x 6 pixels of 1 channel, got 4 x 4 pixels"));
  CHECK_THROWS_WITH_AS((void)picture_tensor("abc", input), doctest::Contains("got 3 bytes"), Error);
}

TEST_CASE("pictures: a model of color pictures reads gray pictures, but not the reverse") {
  const LabeledTexts gray = small_pictures(0, 6);
  LabeledTexts colored = gray;
  colored.picture.channels = 3;
  for (std::string& pixels : colored.texts) {
    std::string colors;
    for (const char pixel : pixels) colors.append(3, pixel);
    pixels = colors;
  }
  const InputSpec input = picture_input(colored, 2);
  CHECK(same_bits(picture_tensor(gray.texts[1], input), picture_tensor(colored.texts[1], input)));
  CHECK(same_bits(picture_data({}, gray, input, 6)->validation(0).frames,
                  picture_data({}, colored, input, 6)->validation(0).frames));
  CHECK(contains(error_of([&] { (void)picture_data({}, colored, picture_input(gray, 2), 6); }),
                 "expected pictures of 4 x 6 pixels of 1 channel, got 4 x 6 pixels of 3 channels"));
}

TEST_CASE("pictures: every architecture learns pictures, and its checkpoint classifies them") {
  LabeledTexts rows = small_pictures(0, 60);
  const LabeledTexts held_out = hold_out(rows, 0.2, 1);
  CHECK(held_out.picture.height == 4);
  const InputSpec input = picture_input(rows, 2);
  const auto data = picture_data(rows, held_out, input, 8, {false, 1});
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const std::string config = R"({"d_model":16,"layers":1,"seq_len":6})";
    const auto model = make_model(data->spec(arch, config), {Random(3), DType::f32});
    TrainOptions options = small_options(80);
    options.schedule.peak = 0.005;
    Trainer trainer(*model, *data, options);
    RunOptions run;
    run.folder = folder / "run";
    const RunResult result = trainer.run(run);
    CHECK(result.evaluation->metric("accuracy") > 0.9);
    const Classifier classifier(load_checkpoint(folder / "run", Purpose::inference));
    std::int64_t right = 0;
    const auto all = classifier.probabilities(held_out.texts);
    for (std::size_t k = 0; k < held_out.texts.size(); ++k) {
      CHECK(classifier.probabilities(held_out.texts[k]) == all[k]);
      right += classifier(held_out.texts[k]).label == held_out.names[static_cast<std::size_t>(held_out.labels[k])];
    }
    CHECK(static_cast<double>(right) / 12 == doctest::Approx(result.evaluation->metric("accuracy")));
    CHECK_THROWS_WITH_AS((void)classifier("text"), doctest::Contains("expected 4 x 6 pixels of 1 channel"), Error);
  }
}

}  // namespace weft::test
