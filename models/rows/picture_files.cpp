#include "rows/picture_files.h"

#include "base/registry.h"
#include "rows/row_reader.h"
#include "weft/error.h"
#include "weft/sound.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::int64_t largest_picture_side = 1 << 14;

// Common formats, with the Debian package that lets the weft command read them.
struct KnownFormat {
  const char* name;
  std::string_view magic;
  const char* package;
};
constexpr KnownFormat known_formats[] = {{"PNG", "\x89PNG\r\n\x1a\n", "libpng-dev"},
                                         {"JPEG", "\xFF\xD8\xFF", "libturbojpeg0-dev"}};

Registry<PictureDecoder>& decoders() {
  static Registry<PictureDecoder> made = {};
  return made;
}

bool begins_with(std::string_view bytes, std::string_view magic) { return bytes.substr(0, magic.size()) == magic; }

const PictureDecoder* decoder_of(std::string_view bytes) {
  const PictureDecoder* found = nullptr;
  decoders().for_each([&](const PictureDecoder& decoder) {
    if (begins_with(bytes, decoder.magic)) found = &decoder;
  });
  return found;
}

bool is_wav(std::string_view bytes) {
  return bytes.size() >= 12 && bytes.substr(0, 4) == "RIFF" && bytes.substr(8, 4) == "WAVE";
}

const char* const skip_hint = " (--skip-bad-rows skips such files)";

void add_sound(std::string_view bytes, const std::string& where, LabeledTexts& all) {
  Sound sound;
  try {
    sound = read_wav(bytes);
    if (sound.samples.empty()) throw Error("the sound has no samples");
  } catch (const Error& error) {
    throw BadRow(where + ": " + error.what() + skip_hint);
  }
  if (!all.texts.empty() && sound.rate != all.rate)
    throw BadRow(where + ": " + "expected " + std::to_string(all.rate) +
                 " samples per second, like the files before it, got " + std::to_string(sound.rate) + "; sox FILE -r " +
                 std::to_string(all.rate) + " NEW.wav converts it" + skip_hint);
  all.rate = sound.rate;
  all.texts.emplace_back(bytes);
}

}  // namespace

void register_picture_decoder(PictureDecoder decoder) {
  if (decoder.name.empty() || decoder.magic.empty() || !decoder.decode)
    throw Error("[pictures] expected a decoder with a name, the first bytes of its files, and a function");
  decoders().add(std::move(decoder), [](const PictureDecoder& added, const PictureDecoder& known) {
    if (added.name == known.name) throw Error("[pictures] there is already a decoder \"" + added.name + "\"");
  });
}

bool detail::is_picture_file(std::string_view bytes) {
  for (const KnownFormat& format : known_formats)
    if (begins_with(bytes, format.magic)) return true;
  return decoder_of(bytes) != nullptr;
}

Picture detail::decode_picture(std::string_view bytes, const std::string& where) {
  const PictureDecoder* decoder = decoder_of(bytes);
  if (decoder == nullptr) {
    for (const KnownFormat& format : known_formats)
      if (begins_with(bytes, format.magic))
        throw Error(where + ": this program can't read " + format.name + " pictures; the weft command can if " +
                    format.package + " (Debian) is installed when it is built");
    throw BadRow(where + ": expected a picture like the files before it" + skip_hint);
  }
  Picture picture;
  try {
    picture = decoder->decode(bytes);
  } catch (const Error& error) {
    throw BadRow(where + ": " + error.what() + skip_hint);
  }
  const auto [height, width, channels] = picture.size;
  const bool is_usable = height >= 1 && height <= largest_picture_side && width >= 1 && width <= largest_picture_side &&
                         (channels == 1 || channels == 3) && std::ssize(picture.pixels) == height * width * channels;
  if (!is_usable)
    throw BadRow(where + ": expected a picture with sides of 1 to " + std::to_string(largest_picture_side) +
                 " pixels and 1 or 3 channels, got " + describe_pictures(picture.size) + skip_hint);
  return picture;
}

void detail::add_picture(Picture picture, const std::string& where, LabeledTexts& all) {
  const PictureSize &size = picture.size, &first = all.picture;
  if (!all.texts.empty() && (size.height != first.height || size.width != first.width))
    throw BadRow(where + ": expected a picture of " + std::to_string(first.height) + " x " +
                 std::to_string(first.width) + " pixels, like those before it, got " + std::to_string(size.height) +
                 " x " + std::to_string(size.width) +
                 "; give all pictures one size, for example with ImageMagick's mogrify -resize" + skip_hint);
  all.picture = {size.height, size.width, std::max(first.channels, size.channels)};
  all.texts.push_back(std::move(picture.pixels));
}

bool detail::is_file_of_numbers(std::string_view bytes) { return is_picture_file(bytes) || is_wav(bytes); }

bool detail::add_numbers(std::string_view bytes, const std::string& where, LabeledTexts& all) {
  const bool is_first = all.texts.empty();
  if (is_first ? is_picture_file(bytes) : all.picture.height > 0) add_picture(decode_picture(bytes, where), where, all);
  else if (is_first ? is_wav(bytes) : all.rate > 0) add_sound(bytes, where, all);
  else return false;
  return true;
}

std::string detail::finish_numbers(LabeledTexts& all) {
  if (all.rate > 0) return "sounds of " + std::to_string(all.rate) + " samples a second";
  finish_pictures(all);
  return describe_pictures(all.picture);
}

void detail::finish_pictures(LabeledTexts& all) {
  const auto [height, width, channels] = all.picture;
  for (std::string& pixels : all.texts) {
    if (std::ssize(pixels) == height * width * channels) continue;
    std::string colored;
    for (const char gray : pixels) colored.append(static_cast<std::size_t>(channels), gray);
    pixels = std::move(colored);
  }
}

std::string detail::describe_pictures(const PictureSize& size) {
  return "pictures of " + std::to_string(size.height) + " x " + std::to_string(size.width) + " pixels" +
         (size.channels == 1 ? "" : " with " + std::to_string(size.channels) + " channels");
}

}  // namespace weft
