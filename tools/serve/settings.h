// The options of weft serve.
#pragma once
#include <weft/precision.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace serve {

struct Settings {
  std::vector<std::string> models;  // NAME=DIR or DIR
  std::string host = "127.0.0.1";
  std::int64_t port = 8080;  // 0: a free port
  std::string api_key;       // if it is empty, everyone may send requests
  std::optional<weft::Precision> precision;
  std::string states;               // folder for saved states; if it is empty, none are saved
  std::int64_t max_states = 1000;   // saved states
  double drain = 30, timeout = 60;  // seconds
  std::int64_t connections = 64;    // connections that are served at the same time
  std::int64_t max_batch = 16;      // texts that a model continues at the same time
  std::int64_t max_queue = 256;     // texts that wait for a model
  std::int64_t max_memory = 0;      // bytes for the texts that all models continue; 0: half of the machine's memory
  std::int64_t max_tokens = 4096;   // new symbols of a text
  std::int64_t max_prompt = 65536;  // bytes of a prompt or another text
  std::int64_t max_body = 1 << 20;  // bytes of a request's body
};

}  // namespace serve
