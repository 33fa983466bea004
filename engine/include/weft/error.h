/// \file
/// The exceptions of weft.
#pragma once
#include <stdexcept>
#include <string>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The message names the operation, what was expected and what was found. Example:
/// `[einsum] "ij,jk->ik": index j has size 7 in operand 0 but 5 in operand 1`
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Memory is exhausted. The same call may succeed later. Functions that read or write files throw an Error that names
/// the file instead.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace weft
WEFT_PUBLIC_END
