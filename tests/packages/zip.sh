#!/usr/bin/env bash
# zip.sh FOLDER
# Builds the programs of tests/embed with the unpacked ZIP file for Windows in FOLDER, and runs them under Wine, as well
# as the command if FOLDER has it. Exits with 77 if Wine is missing.
set -euo pipefail
folder=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
wine=
for name in wine64 wine /usr/lib/wine/wine64; do wine=${wine:-$(command -v $name || true)}; done
[ -n "$wine" ] || { echo "skipped: a program with the library for Windows (missing: wine64)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WINEDEBUG=-all

cmake -S "$source/tests/embed" -B "$work/build" "-DCMAKE_TOOLCHAIN_FILE=$source/tools/cmake/cross.cmake" \
  -DWEFT_TARGET=x86_64-w64-mingw32 "-Dweft_ROOT=$folder" -DCMAKE_EXE_LINKER_FLAGS=-static >"$work/log" 2>&1 &&
  cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cp "$folder"/bin/*.dll "$work/build"
cd "$work/build"
model=$source/tests/fixtures/gmlp-causal-lm
for program in consumer c_consumer; do
  "$wine" $program.exe "$model" 12 >"$program.txt"
  # A missing model is an exception in the library that the program catches.
  ! "$wine" $program.exe nowhere 12 2>"$program.error"
  grep -q nowhere "$program.error" || { cat "$program.error" >&2; exit 1; }
done
text() { tail -n +2 "$1" | tr -d '\r'; }
[ "$(text consumer.txt)" = "$(text c_consumer.txt)" ] || { tail consumer.txt c_consumer.txt >&2; exit 1; }
[ ! -e "$folder/bin/weft.exe" ] || "$wine" "$folder/bin/weft.exe" generate "$model" --tokens 5 >/dev/null
