#!/bin/sh
# tiles.sh OBJDUMP INSTRUCTION OBJECT...
# AMX's instructions: the objects set the tiles' shapes, load, store and release them and multiply by INSTRUCTION; or, if that
# is "none", have none of them.
set -eu
objdump=$1 instruction=$2
shift 2
[ $# -gt 0 ] || { echo "no objects"; exit 1; }
code=$(mktemp)
trap 'rm -f "$code"' EXIT
"$objdump" -d --no-show-raw-insn "$@" >"$code"
grep -q ret "$code" || { echo "no code"; exit 1; }
found=$(sed -n 's/^ *[0-9a-f]*:[[:space:]]*\(\(ldtile\|sttile\|tile\|tdp\)[a-z0-9]*\).*/\1/p' "$code" | sort -u)
if [ "$instruction" = none ]; then
  [ -z "$found" ] || { echo "instructions of AMX:" $found; exit 1; }
  echo "$# objects without AMX"
  exit 0
fi
echo "instructions:" $found
wanted=$(printf '%s\n' ldtilecfg "$instruction" tileloadd tilerelease tilestored tilezero | sort)
[ "$found" = "$wanted" ] || exit 1
other=$(grep -w "$instruction" "$code" | grep -Ev '%tmm[67], ?%tmm[45], ?%tmm[0-3]' || true)
[ -z "$other" ] || { echo "operands in another order:" "$other"; exit 1; }
