#!/bin/sh
# check.sh COMPILER STANDARD SOURCE_FOLDER
# Every public header compiles alone, and twice, as C++17, 20 and 23.
set -eu
compiler=$1 standard=$2 source=$3
# Older compilers call it 2b.
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
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" | compile || { echo "$header"; failed=$((failed + 1)); }
  done
done
echo "$count headers as C++$standard, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
