#!/bin/sh
# check.sh COMPILER STANDARD SOURCE_FOLDER
# Checks that every public header compiles by itself, and twice, as C++17, and all of them as C++20 and 23; that weft.h
# includes them all; and that the shared library exports their declarations. The export needs two macros, because with
# clang 14 a namespace's attribute doesn't affect functions that are defined elsewhere.
set -eu
compiler=$1 standard=$2 source=$3
# Older compilers call C++23 "2b".
if [ "$standard" = 23 ] && ! echo | "$compiler" -std=c++23 -x c++ -fsyntax-only - 2>/dev/null; then standard=2b; fi
rooms="engine ops models"
compile() {
  "$compiler" -std=c++"$standard" -x c++ -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror \
    $(for room in $rooms; do echo "-I$source/$room/include"; done) -
}
if echo '#include <weft/no_such_header.h>' | compile 2>/dev/null; then echo "the check finds nothing"; exit 1; fi
count=0 failed=0
for room in $rooms; do
  for header in $(cd "$source/$room/include" && find weft -name '*.h' | sort); do
    count=$((count + 1))
    file=$source/$room/include/$header
    if grep -q '^namespace' "$file"; then
      awk '/^WEFT_PUBLIC_BEGIN$/ { ++pushed } /^WEFT_PUBLIC_END$/ { --pushed }
           /^#include/ && !/[.]def"/ && pushed { exit 1 } /^namespace/ && pushed != 1 { exit 1 } END { if (pushed) exit 1 }' "$file" ||
        { echo "$header: no WEFT_PUBLIC_BEGIN and WEFT_PUBLIC_END around the namespace"; failed=$((failed + 1)); }
    fi
    [ "$header" = weft/weft.h ] || grep -qxF "#include \"$header\"" "$source/models/include/weft/weft.h" ||
      { echo "weft/weft.h doesn't include $header"; failed=$((failed + 1)); }
    [ "$standard" != 17 ] && [ "$header" != weft/weft.h ] ||
      printf '#include <%s>\n#include <%s>\n' "$header" "$header" | compile || { echo "$header"; failed=$((failed + 1)); }
  done
done
# Doxygen requires comments within a namespace only if the namespace has one.
for namespace in $(cat "$source"/*/include/weft/*.h | sed -n 's/^ *namespace \([a-z:]*\) {.*/\1/p' | sed 's/.*:://' | sort -u | grep -vx detail); do
  grep -Eq "^/// .namespace (weft::)?$namespace$" "$source/models/include/weft/weft.h" ||
    { echo "weft/weft.h has no comment on namespace $namespace"; failed=$((failed + 1)); }
done
echo "$count headers as C++$standard, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
