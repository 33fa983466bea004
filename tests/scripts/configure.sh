#!/usr/bin/env bash
# Checks that every cmake in the PATH configures the project, because versions accept different files, and distributions
# have old versions.
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
