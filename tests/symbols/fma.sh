#!/bin/sh
# fma.sh OBJDUMP OBJECT REGISTER
# Checks that the micro-kernel of f32 and f64 matrix products multiplies only with fused multiply-adds of full vectors.
set -eu
objdump=$1 object=$2 register=$3
code=$("$objdump" -d -C --no-show-raw-insn "$object")
for type in float double; do
  tile=$(echo "$code" | awk -v name="::part_of_tile<$type, " '/^[0-9a-f]+ </ { inside = index($0, name) } inside')
  [ -n "$tile" ] || { echo "no part_of_tile<$type> in $object"; exit 1; }
  fused=$(echo "$tile" | grep -Ec "vfn?m(add|sub)[123]*p[sd][[:space:]].*%$register" || true)
  other=$(echo "$tile" | grep -Ec "v?mulp[sd]|vfn?m(add|sub)[123]*s[sd]" || true)
  echo "part_of_tile<$type>: $fused fused multiply-adds of $register, $other other multiplications"
  [ "$fused" -ge 12 ] && [ "$other" -eq 0 ] || exit 1
done
