#!/bin/sh
# c_abi.sh NM LIBRARY PROGRAM RECORD
# Checks that the C names exported by the shared library, and the output of c_abi.c about weft/weft_c.h, are those in
# RECORD. After an intended change, run it again with its output redirected to RECORD, and document the change in
# CHANGELOG.md.
set -eu
nm=$1 library=$2 program=$3 record=$4
now=$(mktemp)
trap 'rm -f "$now"' EXIT
{
  "$nm" -D --defined-only "$library" | sed -n 's/^[0-9a-f]* T \(weft_.*\)/\1/p' | LC_ALL=C sort
  "$program"
} >"$now"
diff "$record" "$now" || { echo "the interface for C differs from $record: that (<), now (>)"; exit 1; }
echo "$(grep -c '^weft_' "$record") functions as on record"
