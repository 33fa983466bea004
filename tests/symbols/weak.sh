#!/bin/sh
# weak.sh NM OWN OBJECT...
# Checks that the kernel units of one instruction set don't define a symbol that the linker may use for other code, too.
# The name of every weak symbol must match OWN.
set -eu
nm=$1 own=$2
shift 2
[ $# -gt 0 ] || { echo "no objects"; exit 1; }
symbols=$("$nm" -C --defined-only "$@")
# DW.ref.… is a pointer to the unwinder's personality routine: data without code of an instruction set.
weak=$(echo "$symbols" | sed -n 's/^[0-9a-f]* [WwVvu] //p' | grep -v '^DW\.ref\.' | sort -u)
foreign=$(echo "$weak" | grep -Ev "$own" | grep . || true)
if [ -n "$foreign" ]; then
  echo "weak symbols without $own in their names:"
  echo "$foreign"
  exit 1
fi
echo "$(echo "$weak" | grep -c . || true) weak symbols, all with $own in their names"
