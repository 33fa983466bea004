#!/usr/bin/env bash
# Trains a tiny model, then builds and runs the consumer project against weft installed and as a subproject.
# usage: run.sh BUILD_DIR SOURCE_DIR WEFT_COMMAND installed|subproject [CMAKE FLAG...]
set -euo pipefail
build=$1 source=$2 weft=$3 way=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

head -c 3000 "$source/LICENSE" >"$work/text.txt"
"$weft" train --arch gmlp --text "$work/text.txt" --layers 1 --d-model 8 --seq-len 16 --batch 2 --steps 3 --out "$work/model" >"$work/train.log" 2>&1

if [ "$way" = installed ]; then
  cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
  cmake -S "$source/tests/embed" -B "$work/build" "-DCMAKE_PREFIX_PATH=$work/prefix" "$@" >"$work/configure.log"
else
  cmake -S "$source/tests/embed" -B "$work/build" "-DWEFT_SOURCE_DIR=$source" "$@" >"$work/configure.log"
  if grep -iE 'weft' "$work/configure.log"; then
    echo "weft as a subproject is not quiet" >&2
    exit 1
  fi
fi
cmake --build "$work/build" --parallel 2 >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
"$work/build/consumer" "$work/model" "Permission"
