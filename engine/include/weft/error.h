/// \file
/// The only exception type of weft.
#pragma once
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace weft {

/// The message names the operation, what was expected and what was found. Example:
/// `[einsum] "ij,jk->ik": index j has size 7 in operand 0 but 5 in operand 1`
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
#pragma GCC visibility pop
