#!/usr/bin/env bash
# Checks that every cmake in the PATH configures the project, because versions accept different files, and distributions
# have old versions. Then checks where the threads come from if OpenMP is missing.
# usage: configure.sh SOURCE_DIR [CMAKE FLAG...]
set -euo pipefail
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for cmake in $(type -ap cmake); do
  "$cmake" -S "$source" -B "$work/build" -DWEFT_TESTS=ON -DWEFT_ISAS=baseline "$@" >"$work/log" 2>&1 || {
    printf '%s (%s) does not configure the project:\n' "$cmake" "$("$cmake" --version | head -n 1)"
    tail -n 40 "$work/log"
    exit 1
  }
  rm -r "$work/build"
done

without_openmp() {
  rm -rf "$work/build"
  cmake -S "$source" -B "$work/build" -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DWEFT_TESTS=OFF -DWEFT_TOOLS=OFF \
    -DWEFT_ISAS=baseline "$@" >"$work/log" 2>&1
}
fail() { cat "$work/log"; echo "$*"; exit 1; }
without_openmp "$@" || fail "expected a build without OpenMP"
grep -q 'without OpenMP' "$work/log" || fail "expected a message that OpenMP is missing"
grep -rq 'backend_pool[.]cpp[.]o' "$work/build" || fail "expected the threads of the standard library"
! without_openmp -DWEFT_THREADS=openmp "$@" || fail "expected an error, because OpenMP is missing"
grep -q OpenMP "$work/log" || fail "expected an error that names OpenMP"
