// Reads JSON files of other programs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/small_file.h"

namespace weft::detail {

// Throws an Error that names the file unless it exists, is a JSON object, and has at most `most` bytes.
inline nlohmann::json read_json_object(const std::string& path, std::uint64_t most = most_of_config) {
  const os::MappedFile file = map_small_file(path, most);
  try {
    const nlohmann::json object =
        parse_json({reinterpret_cast<const char*>(file.data), static_cast<std::size_t>(file.size)});
    if (!object.is_object()) throw Error("the file is not a JSON object");
    return object;
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

// Sets the field to the value of the key. If the key is missing or null, the field keeps its value. Throws an Error
// that names the file and the key if the value has another type.
template <class T>
void read_key(const std::string& path, const nlohmann::json& object, const char* key, T& field) {
  if (!object.contains(key) || object.at(key).is_null()) return;
  try {
    read_field("checkpoint", key, object.at(key), field);
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

}  // namespace weft::detail
