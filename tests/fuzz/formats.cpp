// Tries to load a folder as the checkpoint of another program, in each format that weft knows, and writes what it could
// load. The input: config.json, a zero byte, the header of model.safetensors,
// a zero byte, and two bytes with the size of the tensor data, which follow. If the text of config.json is empty, the
// folder has no such file.
#include <cstdlib>
#include <fstream>

#include "target.h"
#include "temporary_folder.h"
#include "weft/checkpoint_format.h"

namespace {

std::string length_of(std::uint64_t size) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(size >> 8 * i & 255);
  return bytes;
}

// Values from -1 to 1 in any type.
std::string tensors(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 3; i < size; i += 4) bytes[i] = static_cast<char>(i % 8 == 3 ? 0x3e : 0xbe);
  return bytes;
}

const TemporaryFolder& folder() {
  static const TemporaryFolder made;
  return made;
}

void make_files(const std::string& all) {
  const std::size_t header = std::min(all.find('\0'), all.size());
  const std::size_t size = std::min(all.find('\0', header + 1), all.size());
  const std::string text = header < size ? all.substr(header + 1, size - header - 1) : "";
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 2 && size + 1 + i < all.size(); ++i)
    bytes |= std::size_t{static_cast<unsigned char>(all[size + 1 + i])} << 8 * i;
  folder().write("in/model.safetensors", length_of(text.size()) + text + tensors(bytes));
  if (header > 0) folder().write("in/config.json", all.substr(0, header));
  else std::filesystem::remove(folder() / "in/config.json");
}

// A model that is written can be read again and has the same number of parameters.
void use(const std::string& format) {
  weft::test::refuses_or_works([&] {
    const weft::Checkpoint read = weft::load_checkpoint_as(format, folder() / "in");
    std::filesystem::remove_all(folder() / "out");
    weft::test::refuses_or_works([&] {
      (void)weft::save_checkpoint_as(format, folder() / "out", read);
      weft::LoadOptions options;
      options.task = read.model->task();
      const weft::Checkpoint again = weft::load_checkpoint_as(format, folder() / "out", options);
      if (weft::parameter_count(again.model->parameters()) != weft::parameter_count(read.model->parameters()))
        std::abort();
    });
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  make_files(weft::test::text_of(data, size));
  weft::test::refuses_or_works([] { (void)weft::find_checkpoint_format(folder() / "in"); });
  for (const std::string& format : weft::checkpoint_formats()) use(format);
  return 0;
}
