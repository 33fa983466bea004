#!/bin/sh
# weak.sh NM ISA ARCH OBJECT...
# The kernel units of one instruction set must not define a symbol that the linker may choose for everyone: every weak
# one has the instruction set in its name, or ARCH, what xsimd calls it alone, if that isn't empty.
set -eu
nm=$1 isa=$2 arch=$3
shift 3
[ $# -gt 0 ] || { echo "no objects"; exit 1; }
symbols=$("$nm" -C --defined-only "$@")
# DW.ref.… is a pointer to the unwinder's personality routine, data without code of an instruction set.
weak=$(echo "$symbols" | sed -n 's/^[0-9a-f]* [WwVvu] //p' | grep -v '^DW\.ref\.' | sort -u)
foreign=$(echo "$weak" | grep -Ev "weft::$isa::${arch:+|$arch[^0-9a-z_]}" | grep . || true)
if [ -n "$foreign" ]; then
  echo "weak symbols of $isa units without $isa in their names:"
  echo "$foreign"
  exit 1
fi
echo "$(echo "$weak" | grep -c . || true) weak symbols, all with $isa in their names"
