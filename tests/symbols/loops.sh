#!/bin/sh
# loops.sh OBJDUMP RECORD ISA OBJECT...
# Checks that the hot loops of the micro-kernels match a record of fast loops. The hot loop is the innermost loop with
# the most products. It must have the recorded numbers of products and of vectors read from memory, and at most the
# recorded numbers of other instructions and of vectors on the stack. Format of a line: instruction set; function;
# products, loads, maximum of others, maximum on the stack.
# If RECORD is -, prints the present numbers in that format.
set -eu
objdump=$1 record=$2 isa=$3
shift 3
code=$("$objdump" -d -C --no-show-raw-insn "$@")

# count FUNCTION: prints the numbers of products, loads, other instructions and vectors on the stack in the hot loop.
count() {
  echo "$code" | awk -v name="::part_of_tile<$1>(" '
    # "address:  mnemonic operands": a jump ends with the address of its target and <function+offset>.
    function address(hex,   i, n) {
      n = 0
      for (i = 1; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
      return n
    }
    /^[0-9a-f]+ </ { inside = index($0, name) > 0; next }
    inside && /^ +[0-9a-f]+:/ {
      at[++n] = address(substr($1, 1, length($1) - 1))
      word[n] = $2
      line[n] = $0
      sub(/^[^:]*:[ \t]*/, "", line[n])
      if ($2 ~ /^(j[a-z]+|b\.[a-z]+|cbn?z|tbn?z)$/ && match(line[n], /[0-9a-f]+ </))
        target[n] = address(substr(line[n], RSTART, RLENGTH - 2))
    }
    END {
      most = 0
      for (end = 1; end <= n; end++) {
        if (!(end in target) || target[end] >= at[end] || target[end] < at[1]) continue
        products = loads = others = stack = 0
        for (i = end; i > 0 && at[i] >= target[end]; i--) {
          is_product = word[i] ~ /^(vfn?m(add|sub)|vdpbf16ps|vpdpbusd|v?pmaddwd|vpmaddubsw|v?pmullw|fmla|smlal|bfdot|sdot|v?mulps|v?mulpd)/
          is_vector = line[i] ~ /%[xyz]mm|[ ,\t][vqsd][0-9]/
          reads = is_vector && line[i] ~ /\(%|\[x/ && line[i] !~ /^[a-z0-9]*(prefetch|prfm)/ && line[i] !~ /,[-0-9a-fx]*\(%[^)]*\)$/ && word[i] !~ /^st/
          products += is_product
          loads += reads
          others += !is_product && !reads
          stack += is_vector && line[i] ~ /%rsp|%rbp|\[sp/
        }
        if (!products) continue
        loop++
        first[loop] = target[end]; last[loop] = at[end]; weight[loop] = products
        counts[loop] = products " " loads " " others " " stack
      }
      # Counts only innermost loops, because a jump back from rarely executed code also spans them.
      for (l = 1; l <= loop; l++) {
        for (o = 1; o <= loop; o++)
          if (o != l && first[o] >= first[l] && last[o] <= last[l]) weight[l] = 0
        if (weight[l] > most) { most = weight[l]; best = counts[l] }
      }
      print most ? best : "none"
    }'
}

if [ "$record" = - ]; then
  echo "$code" | sed -n 's/^[0-9a-f]* <.*::part_of_tile<\(.*\)>(weft::detail::[A-Za-z0-9]*Tile.*>:$/\1/p' | sort -u | while read -r function; do
    echo "$isa; $function; $(count "$function")"
  done
  exit 0
fi
failed=0 checked=0
while IFS=';' read -r of function wanted; do
  [ "$of" = "$isa" ] || continue
  function=${function# }
  checked=$((checked + 1))
  # shellcheck disable=SC2046,SC2086
  set -- $wanted $(count "$function")
  [ $# -eq 8 ] || { echo "part_of_tile<$function> of $isa: not found, or without a loop"; failed=1; continue; }
  if [ "$5" -ne "$1" ] || [ "$6" -ne "$2" ] || [ "$7" -gt "$3" ] || [ "$8" -gt "$4" ]; then
    echo "part_of_tile<$function> of $isa: expected a loop of $1 products, $2 loads, at most $3 other instructions and $4 vectors" \
      "on the stack, got $5, $6, $7 and $8"
    failed=1
  fi
done <"$record"
[ "$checked" -gt 0 ] || { echo "no line of $record is of $isa"; exit 1; }
echo "$checked loops of $isa looked at"
exit $failed
