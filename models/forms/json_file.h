// JSON files of other programs.
#pragma once
#include <filesystem>
#include <string>

#include "base/json.h"
#include "weft/os.h"

namespace weft::detail {

// Error, naming the file, unless it is there and a JSON object. Mapped, as a pipe of that name would be waited for.
inline nlohmann::json read_json_object(const std::string& path) {
  const os::MappedFile file = os::map_file(path);
  try {
    const nlohmann::json object = parse_json(std::string(reinterpret_cast<const char*>(file.data), file.size));
    if (!object.is_object()) throw Error("not a JSON object");
    return object;
  } catch (const Error& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

// The field keeps its value if the key is missing or null. Error, naming file and key, for another type.
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
