#!/bin/sh
# encodings.sh OBJDUMP baseline|vex|evex OBJECT...
# Checks which x86-64 encodings occur in objects. A CPU without AVX traps at VEX (first byte c4 or c5), and a CPU
# without AVX-512 traps at EVEX (first byte 62). With evex, all encodings may occur except vdpbf16ps (AVX512-BF16) and
# vpdpbusd (AVX512-VNNI).
set -eu
objdump=$1 most=$2
shift 2
[ $# -gt 0 ] || { echo "no objects"; exit 1; }
code=$(mktemp)
trap 'rm -f "$code"' EXIT
"$objdump" -d -w "$@" >"$code"
grep -q ret "$code" || { echo "no code"; exit 1; }
prefixes='^ *[0-9a-f]+:[[:space:]]((26|2e|36|3e|64|65|67) )*'
case $most in
  baseline) found=$(grep -E "${prefixes}(c4|c5|62) " "$code" || true) ;;
  vex) found=$(grep -E "${prefixes}62 " "$code" || true) ;;
  evex) found=$(grep -E '[[:space:]](vdpbf16ps|vpdpbusds?|vpdpwssds?|vcvtne2?ps2?bf16|vcvtneps2bf16)[[:space:]]' "$code" || true) ;;
  *) echo "expected baseline, vex or evex, got $most"; exit 1 ;;
esac
if [ -n "$found" ]; then
  echo "$(echo "$found" | wc -l) instructions beyond $most, the first:"
  echo "$found" | head -n 5
  exit 1
fi
echo "$# objects, nothing beyond $most"
