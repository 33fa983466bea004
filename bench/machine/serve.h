// Programs that answer the requests of bench/machine/process.py.
#pragma once
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "machine/sampled.h"

namespace weft::bench {

// The answer to the request "ran": the number of samples of each kind of instruction.
inline nlohmann::json counts(const Samples& samples) {
  nlohmann::json kinds;
  for (std::size_t i = 0; i < samples_count; ++i) kinds[sampled_names[i]] = samples[i];
  return kinds;
}

// Answers each line of standard input with one line. If a request fails, the answer is "error MESSAGE".
template <class Answer>
void serve(const Answer& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}

}  // namespace weft::bench
