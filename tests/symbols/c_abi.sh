#!/bin/sh
# c_abi.sh NM LIBRARY PROGRAM RECORD
# The names of C that the shared library exports, and what c_abi.c says of weft/weft_c.h, are those on record. Whoever
# changes them on purpose runs it again with `>` RECORD on what it prints, and says so in CHANGELOG.md.
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
