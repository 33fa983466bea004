// Programs that answer the requests of bench/machine/process.py.
#pragma once
#include <exception>
#include <iostream>
#include <string>

namespace weft::bench {

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
