#!/usr/bin/env bash
# Writes weft.h and weft.cpp for an architecture, compiles a program with them in one call of the compiler, and checks
# that its results equal those of the library, bit by bit.
# usage: run.sh SOURCE_DIR ARCHITECTURE LIBRARY_PROGRAM MAKE_CHECKPOINTS COMPILER
set -euo pipefail
source=$1 arch=$2 library=$3 make_checkpoints=$4 compiler=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'single: %s\n' "$*" >&2; exit 1; }

isa=$("$library" instruction-set)
python3 "$source/tools/amalgamate" --arch "$arch" --isa "$isa" --out "$work/single"
cp "$source/tests/single/main.cpp" "$work/single"
command=$(sed -n 's|^// Compile with: c++ ||p' "$work/single/weft.h")
[ -n "$command" ] || fail "weft.h does not say how to compile it"
# -O1 takes less time than -O2 and gives the same bits.
(cd "$work/single" && $compiler ${command/-O2/-O1} -o main)

"$make_checkpoints" "$arch" "$work"
for task in classify generate; do
  [ -d "$work/$task" ] || continue
  for text in "The lazy fox" "jumps over the brown dog. The quick"; do
    "$library" "$task" "$work/$task" "$text" >"$work/expected"
    "$work/single/main" "$task" "$work/$task" "$text" >"$work/got"
    cmp "$work/expected" "$work/got" || fail "$arch: $task gives other results than the library"
  done
done
! "$work/single/main" classify "$work" text 2>"$work/error" || fail "a folder without a checkpoint was loaded"
grep -q "model.safetensors" "$work/error" || fail "the error message does not name the missing file: $(cat "$work/error")"
[ "$("$work/single/main" instruction-set)" = "$isa" ] || fail "weft.cpp has another instruction set than $isa"
