#!/usr/bin/env bash
# Trains a tiny model, then builds and runs the consumer project against weft installed and as a subproject.
# usage: run.sh BUILD_DIR SOURCE_DIR WEFT_COMMAND installed|subproject [CMAKE FLAG...]
set -euo pipefail
build=$1 source=$2 weft=$3 way=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$1" >&2; exit 1; }

head -c 3000 "$source/LICENSE" >"$work/text.txt"
"$weft" train --arch gmlp --text "$work/text.txt" --layers 1 --d-model 8 --seq-len 16 --batch 2 --steps 3 --out "$work/model" >"$work/train.log" 2>&1

if [ "$way" = installed ]; then
  cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
  cmake -S "$source/tests/embed" -B "$work/build" "-DCMAKE_PREFIX_PATH=$work/prefix" "$@" >"$work/configure.log" 2>&1 ||
    fail "$(cat "$work/configure.log")"
  [ -n "$(find "$work/prefix" -name LICENSE)" ] || fail "LICENSE isn't installed"
  headers=$(cd "$work/prefix/include" && find . -name '*.h' | sort)
  public=$(for room in engine ops models; do (cd "$source/$room/include" && find . -name '*.h'); done | sort)
  [ "$headers" = "$public" ] || fail "the headers installed aren't the public ones: $(diff <(echo "$headers") <(echo "$public"))"
  "$work/prefix/bin/weft" --version >/dev/null || fail "the installed command doesn't start"
else
  cmake -S "$source/tests/embed" -B "$work/build" "-DWEFT_SOURCE_DIR=$source" -DWEFT_ISAS=native "$@" >"$work/configure.log" 2>&1 ||
    fail "$(cat "$work/configure.log")"
  ! grep -iE 'weft|warning' "$work/configure.log" >&2 || fail "weft as a subproject is not quiet"
  # The files that CMake makes of install() and enable_testing().
  ! grep -rn 'file(INSTALL' "$work/build" --include=cmake_install.cmake >&2 || fail "weft as a subproject installs"
  [ -z "$(find "$work/build" -name CTestTestfile.cmake)" ] || fail "weft as a subproject adds tests"
fi
cmake --build "$work/build" --parallel 2 >"$work/build.log" 2>&1 || fail "$(tail -n 30 "$work/build.log")"
"$work/build/consumer" "$work/model" "Permission" >"$work/out"
# The same model, prompt, seed and settings as in main.cpp: the same text.
expected=$("$weft" generate --checkpoint "$work/model" --prompt Permission --tokens 20 --temperature 0.8 --seed 1)
got=Permission$(tail -n +2 "$work/out")
[ "$got" = "$expected" ] || fail "the consumer wrote \"$got\", weft generate \"$expected\""
got=Permission$("$work/build/c_consumer" "$work/model" "Permission")
[ "$got" = "$expected" ] || fail "the consumer in C wrote \"$got\", weft generate \"$expected\""
