/// \file
/// FunctionRef: passes a callable as an argument without a copy.
#pragma once
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

template <class Signature>
class FunctionRef;

/// A reference to a callable, for use as a function parameter. The callable must outlive the reference.
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  /// Refers to f.
  template <class F>
  FunctionRef(const F& f) noexcept  // NOLINT: implicit on purpose
      : object_(&f),
        call_([](const void* o, A... a) -> R { return (*static_cast<const F*>(o))(static_cast<A>(a)...); }) {}
  /// Calls f.
  R operator()(A... a) const { return call_(object_, static_cast<A>(a)...); }

 private:
  const void* object_;
  R (*call_)(const void*, A...);
};

}  // namespace weft
WEFT_PUBLIC_END
