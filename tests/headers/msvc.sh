#!/bin/sh
# msvc.sh CLANG SOURCE_FOLDER
# Checks that every public header parses without GNU extensions, as C++17 and C++20, and weft_c.h also as C. clang
# parses them for the target of Microsoft's compiler, once with its own options, and once with those of that compiler,
# at warning level 4. For this target clang doesn't define __GNUC__, and an int64_t is a long long.
# The C++ library is standard.h, because only Windows has Microsoft's. So this check can't tell whether a header
# includes everything that it uses, whether it works with Microsoft's library, and what only Microsoft's compiler warns
# of. It doesn't compile the sources. Exits with 77 if there is no clang.
set -eu
clang=$1 source=$2
command -v "$clang" >/dev/null || { echo "skipped: there is no clang"; exit 77; }
tests=$source/tests/headers
# Extensions that clang accepts without a warning.
silent='^#pragma (GCC|clang)|\[\[ *(gnu|clang) *::|\b__builtin_'
silent="$silent|\b(__attribute(__)?|__extension__|__typeof(__)?|__int128|asm|__asm(__)?)\b"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
includes= public=
for room in engine ops models; do
  includes="$includes -I$source/$room/include"
  public="$public $source/$room/include/weft/*.h"
done
# shellcheck disable=SC2086
for header in $(sed -n 's/^#include <\([a-z_]*\)>.*/\1/p' $public | sort -u); do
  echo '#include "standard.h"' >"$folder/$header"
done

# parses LANGUAGE STANDARD FILE: LANGUAGE is c++ or c.
parses() {
  # shellcheck disable=SC2086
  "$clang" --target=x86_64-windows-msvc -x "$1" -std="$2" -fsyntax-only -fno-delayed-template-parsing \
    -Wall -Wextra -Wpedantic -Wshadow -Werror $includes -isystem "$folder" -isystem "$tests" "$3" || return 1
  # shellcheck disable=SC2086
  ! "$clang" --target=x86_64-windows-msvc -x "$1" -std="$2" -E $includes -isystem "$folder" -isystem "$tests" "$3" |
    grep -nE "$silent" || return 1
  as=/TP
  [ "$1" = c++ ] || as=/TC
  # shellcheck disable=SC2086
  "$clang" --driver-mode=cl --target=x86_64-windows-msvc /Zs /W4 /WX /EHsc /permissive- /std:"$2" $includes \
    /imsvc "$folder" /imsvc "$tests" "$as" "$3"
}

# Each of these extensions must be found.
found=0
while read -r extension; do
  echo "$extension" >"$folder/extension.cpp"
  ! parses c++ c++17 "$folder/extension.cpp" >"$folder/log" 2>&1 || { echo "not found: $extension"; exit 1; }
  found=$((found + 1))
done <<'END'
inline int f(int a) { return ({ a + 1; }); }
inline int f(int a) { return a ?: 1; }
__attribute__((noinline)) void f();
[[gnu::noinline]] void f();
struct S { int a[0]; };
struct S { struct { int a; }; };
inline bool f(int a) { return __builtin_expect(a, 1); }
_Pragma("GCC visibility push(default)") void f();
typedef __int128 wide;
inline void f() { asm("nop"); }
END
echo '#ifdef __GNUC__
#error "GNU"
#endif
inline int f(int a) { return a + 1; }' >"$folder/standard.cpp"
parses c++ c++17 "$folder/standard.cpp"

count=0 failed=0
for header in $public; do
  name=weft/${header##*/}
  count=$((count + 1))
  echo "#include <$name>" >"$folder/header.cpp"
  for standard in c++17 c++20; do
    # weft.h includes all other headers.
    [ $standard = c++17 ] || [ "$name" = weft/weft.h ] || continue
    parses c++ $standard "$folder/header.cpp" || { echo "$name as $standard"; failed=$((failed + 1)); }
  done
done
echo "#include <weft/weft_c.h>" >"$folder/header.c"
parses c c11 "$folder/header.c" || { echo "weft/weft_c.h as C"; failed=$((failed + 1)); }
echo "$count headers as Microsoft's compiler reads them, $failed failed; $found extensions of GNU found"
[ "$count" -gt 1 ] && [ "$failed" -eq 0 ]
