#include "weft/encoded_text.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/error.h"
#include "weft/os.h"

namespace weft::test {
namespace {

const std::string other_encoding = " (is it in another encoding? iconv -f ISO-8859-1 -t UTF-8 FILE > NEW converts it)";

using Ids = std::vector<std::int64_t>;

Ids all(const EncodedText& text) {
  Ids ids(static_cast<std::size_t>(text.size()));
  text.copy(0, text.size(), ids.data());
  return ids;
}

std::shared_ptr<const Tokenizer> learned_from(const std::string& kind, const Texts& texts) {
  return learn_tokenizer(kind, texts);
}

// A text of about 3 MB. It has several chunks, characters of one to four bytes, and a line longer than a chunk.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "line " + std::to_string(i * 7919 % 1000) + ": naïve €𝄞 fox – jumps\n";
  for (int i = 0; i < 300000; ++i) text += i % 11 == 0 ? " ﬁ" : "wörd";
  text += "\n";
  for (int i = 0; i < 20000; ++i) text += "end " + std::to_string(i % 10) + "\n";
  return text;
}

std::string reading_error(const std::string& path, const Tokenizer& tokenizer, std::uint64_t most = 0) {
  try {
    (void)EncodedText::of_file(path, tokenizer, "", most);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A tokenizer with 70000 symbols, which are numbers.
class Many : public Tokenizer {
 public:
  const char* kind() const noexcept override { return "many"; }
  std::int64_t size() const noexcept override { return 70000; }
  SpecialIds special() const noexcept override { return {}; }
  Ids encode(std::string_view text, const TextPlace&) const override {
    Ids ids;
    for (std::size_t i = 0; i < text.size(); ++i)
      ids.push_back(static_cast<std::int64_t>(text.size() * 4099 + i * 7) % 70000);
    return ids;
  }
  using Tokenizer::decode;
  std::string decode(std::int64_t) const override { return "x"; }
  std::string to_json() const override { return "{}"; }
};

}  // namespace

TEST_CASE("an encoded text has the ids of the whole text, however it is read") {
  const TemporaryFolder folder;
  const std::string text = long_text(), path = folder / "text";
  folder.write("text", text);
  for (const std::string kind : {"characters", "bytes", "words", "wordpunct", "whitespace"}) {
    CAPTURE(kind);
    const auto t = learned_from(kind, text_file(path));
    CHECK(*t == *learn_tokenizer(kind, text));
    const Ids whole = t->encode(text);
    const EncodedText memory(text, *t), file = EncodedText::of_file(path, *t),
                                        mapped = EncodedText::of_file(path, *t, folder / "ids", 0),
                                        temporary = EncodedText::of_file(path, *t, "", 0);
    for (const EncodedText& encoded : {memory, file, mapped, temporary}) {
      CHECK(all(encoded) == whole);
      CHECK(encoded.hash() == memory.hash());
      CHECK(encoded.symbols() == t->size());
    }
    Ids part(5);
    mapped.copy(1234, 5, part.data());
    CHECK(part == Ids(whole.begin() + 1234, whole.begin() + 1239));
  }
  CHECK(folder.files() == 2);
}

TEST_CASE("a tokenizer without cut() receives the whole text, and there may be more than 65536 symbols") {
  const TemporaryFolder folder;
  const std::string text(3000000, 'x');
  folder.write("text", text);
  const Ids whole = Many().encode(text, {});
  CHECK(all(EncodedText(text, Many())) == whole);
  CHECK(all(EncodedText::of_file(folder / "text", Many(), folder / "ids", 0)) == whole);
  CHECK(std::filesystem::file_size(folder / "ids") == 4 * text.size() + 64);
}

TEST_CASE("a file of ids is reused for the same text and tokenizer, and rewritten for others") {
  const TemporaryFolder folder;
  const std::string text = small_text(), path = folder / "text", ids = folder / "ids";
  folder.write("text", text);
  const auto by_bytes = learned_from("bytes", text_file(path)), by_words = learned_from("words", text_file(path));
  const auto encode = [&](const Tokenizer& t) { return all(EncodedText::of_file(path, t, ids, 0)); };
  const auto inode = [&] {
    struct stat s;
    REQUIRE(::stat(ids.c_str(), &s) == 0);
    return s.st_ino;
  };
  CHECK(encode(*by_bytes) == by_bytes->encode(text));
  const auto first = inode();
  // This mapping keeps other files from reusing the inode number.
  const EncodedText kept = EncodedText::of_file(path, *by_bytes, ids, 0);
  CHECK(encode(*by_bytes) == by_bytes->encode(text));
  CHECK(inode() == first);
  CHECK(encode(*by_words) == by_words->encode(text));
  CHECK(inode() != first);
  CHECK(encode(*by_bytes) == by_bytes->encode(text));

  // Damaged files: one byte is changed, or the end is missing.
  const std::string good = folder.read("ids");
  for (std::size_t at = 0; at < good.size(); at += at + 70 < good.size() ? 97 : 1) {
    std::string bad = good;
    bad[at] ^= 1;
    folder.write("ids", bad);
    CHECK(encode(*by_bytes) == by_bytes->encode(text));
    CHECK(folder.read("ids") == good);
  }
  for (std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{64}, good.size() - 64, good.size() - 1}) {
    folder.write("ids", good.substr(0, size));
    CHECK(encode(*by_bytes) == by_bytes->encode(text));
  }
  // A different text of the same length.
  std::string other = text;
  other[100] = '#';
  folder.write("text", other);
  CHECK(encode(*by_bytes) == by_bytes->encode(other));
  // The file is overwritten while it is in use.
  const EncodedText in_use = EncodedText::of_file(path, *by_bytes, ids, 0);
  std::fstream(ids, std::ios::in | std::ios::out | std::ios::binary).write("\xFF\xFF", 2);
  CHECK_THROWS_WITH((void)all(in_use), doctest::Contains("got 65535"));
  // The file is removed while it is in use.
  std::filesystem::remove(ids);
  CHECK(all(kept) == by_bytes->encode(text));
  CHECK_THROWS_WITH((void)EncodedText::of_file(path, *by_bytes, "/proc/weft/ids", 0),
                    doctest::Contains("/proc/weft/ids"));
}

namespace {

// While it encodes, this tokenizer examines the files in a folder that the process has open.
class Watching : public Many {
 public:
  explicit Watching(std::string folder) : folder_(std::move(folder)) {}
  Ids encode(std::string_view text, const TextPlace& place) const override {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed;
      const std::string name = std::filesystem::read_symlink(entry.path(), closed).string();
      struct stat s;
      if (name.rfind(folder_ + "/", 0) != 0 || ::stat(entry.path().c_str(), &s) != 0) continue;
      ++open;
      links += s.st_nlink;
      modes |= s.st_mode & 0777;
    }
    return Many::encode(text, place);
  }
  mutable std::size_t open = 0, links = 0, modes = 0;

 private:
  std::string folder_;
};

}  // namespace

TEST_CASE("ids in a temporary file: weft neither writes nor reads other files, and no other user can read the ids") {
  const TemporaryFolder folder, shared;
  folder.write("text", std::string(3000, 'x'));
  folder.write("victim", "its only copy");
  // These are names that earlier versions used.
  for (int i = 0; i < 100; ++i)
    std::filesystem::create_symlink(folder / "victim",
                                    shared / (".weft-ids-" + std::to_string(::getpid()) + "-" + std::to_string(i)));
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (shared / "").c_str(), 1);
  const Watching tokenizer(std::filesystem::canonical(shared / "").string());
  const Ids ids = all(EncodedText::of_file(folder / "text", tokenizer, "", 0));
  if (before == nullptr) ::unsetenv("TMPDIR");
  else ::setenv("TMPDIR", kept.c_str(), 1);
  CHECK(ids == Many().encode(std::string(3000, 'x'), {}));
  CHECK(tokenizer.open == 1);
  CHECK(tokenizer.links == 0);
  CHECK(tokenizer.modes == 0600);
  CHECK(folder.read("victim") == "its only copy");
  CHECK(shared.files() == 100);
}

TEST_CASE("errors for texts that can't be encoded name the file and the position") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& content) {
    folder.write("text", content);
    return folder / "text";
  };
  const std::string name = "\"" + (folder / "text") + "\"";
  const auto t = characters("abc\n");
  const std::string megabytes(2500000, 'a');
  for (std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    CHECK(reading_error(file(""), *t, most) == name + " is empty");
    CHECK(reading_error(file("\xEF\xBB\xBF"), *t, most) == name + " is empty");
    CHECK(reading_error(file(megabytes + "\xFF" + megabytes), *t, most) ==
          name + ": invalid UTF-8 at byte 2500000" + other_encoding);
    CHECK(reading_error(file("\xEF\xBB\xBF" + megabytes + "\xFF"), *t, most) ==
          name + ": invalid UTF-8 at byte 2500003" + other_encoding);
    CHECK(reading_error(file(megabytes + "\xE2\x82"), *t, most) ==
          name + ": invalid UTF-8 at byte 2500000: the text ends within a character");
    CHECK(reading_error(file("\xFF\xFE" + std::string("a\0b\0", 4)), *t, most) ==
          name + ": invalid UTF-8 at byte 0: it looks like UTF-16 (iconv -f UTF-16 -t UTF-8 converts it)");
    CHECK(reading_error(file(std::string("a\0b\0", 4)), *t, most) ==
          name +
              ": byte 1 is 0, which does not occur in text: expected UTF-8 (if it is UTF-16, iconv -f UTF-16 -t UTF-8 "
              "converts "
              "it)");
    const auto old = tokenizer_from_json(R"({"unit":"characters","characters":"a","mask":false})");
    CHECK(reading_error(file(megabytes + "€"), *old, most) ==
          name + ": the character U+20AC at byte 2500000 is not one of the 1 that the model knows");
    CHECK(reading_error(folder / "missing", *t, most).find("missing") != std::string::npos);
    CHECK(reading_error(folder / ".", *t, most).find("not a regular file") != std::string::npos);
    CHECK(reading_error(file(std::string("a\0\xFF", 3)), *learned_from("bytes", text_file(folder / "text")), most)
              .empty());
  }
  CHECK_THROWS_WITH(characters(read_text(file("ab\xFF"))),
                    (name + ": invalid UTF-8 at byte 2" + other_encoding).c_str());
  CHECK_THROWS_WITH((void)learned_from("words", text_file(file(megabytes + "\xFF"))),
                    (name + ": invalid UTF-8 at byte 2500000" + other_encoding).c_str());
  CHECK_THROWS_WITH((void)learned_from("words", text_file(file(""))), (name + " is empty").c_str());
  CHECK(read_text(file("\xEF\xBB\xBFxy")) == "xy");
  CHECK(folder.files() == 1);  // no file of ids remains
}

TEST_CASE("a file larger than memory is refused after its first bytes, or read in parts") {
  const TemporaryFolder folder;
  folder.write("text", "text\n");
  // The rest of the file is a hole, which takes no space on the disk and reads as zeros. A process of 32 bits can't map
  // a file that is larger than memory.
  std::filesystem::resize_file(folder / "text", std::uintmax_t{1} << (sizeof(void*) == 8 ? 40 : 30));
  CHECK(reading_error(folder / "text", *characters("text\n")).find("byte 5 is 0") != std::string::npos);
  CHECK_THROWS_WITH((void)learned_from("words", text_file(folder / "text")), doctest::Contains("byte 5 is 0"));
}

TEST_CASE("a pipe can be a text file, and is read once") {
  const TemporaryFolder folder;
  const std::string text = small_text(), path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] { folder.write("pipe", text); });
  const auto t = learn_tokenizer("bytes", text);
  const EncodedText encoded = EncodedText::of_file(path, *t, folder / "ids", 0);
  writer.join();
  CHECK(all(encoded) == t->encode(text));
}

}  // namespace weft::test
