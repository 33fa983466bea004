#!/usr/bin/env bash
# Installs weft, builds the examples with it, with warnings as errors, and runs each.
# usage: examples.sh BUILD_DIR SOURCE_DIR [CMAKE FLAG...]
set -euo pipefail
build=$1 examples=$2/models/examples
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$1" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
cmake -S "$examples" -B "$work/build" "-DCMAKE_PREFIX_PATH=$work/prefix" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror" \
  "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror" "$@" >"$work/configure.log" 2>&1 || fail "$(cat "$work/configure.log")"
cmake --build "$work/build" --parallel 2 >"$work/build.log" 2>&1 || fail "$(tail -n 40 "$work/build.log")"

# Every source belongs to a program, and every program has a test.
for source in "$examples"/*.c "$examples"/*.cpp "$examples"/*/*.cpp; do
  grep -qF "$(basename "$source").o" "$work/build.log" || fail "${source#"$examples/"} is not built"
done
ctest --test-dir "$work/build" --no-tests=error --output-on-failure >"$work/test.log" 2>&1 || fail "$(cat "$work/test.log")"
for program in "$examples"/*.c "$examples"/*.cpp "$examples"/*/main.cpp; do
  name=$(basename "${program%.*}")
  [ "$name" != main ] || name=$(basename "$(dirname "$program")")
  grep -q " $name \.*  *Passed" "$work/test.log" || fail "the example $name has not run: $(cat "$work/test.log")"
done
