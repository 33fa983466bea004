#!/bin/sh
# exchange.sh WEFT OTHER...
# Exchanges runs between this machine and another one: a different processor or operating system. WEFT is the weft
# command for this machine. OTHER... runs the weft command for the other one. This machine uses the instruction set of
# the variable WEFT_ISA, by default generic. The other one uses that of OTHER_ISA, by default the same one. Then all
# files must have the same bytes, whichever machine wrote them. Exits with 77 if WEFT does not exist.
set -eu
here=$1
shift
there=$*
isa_here=${WEFT_ISA:-generic}
isa_there=${OTHER_ISA:-$isa_here}
[ -x "$here" ] || { echo "skipped: there is no $here (preset generic)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "$*"; exit 1; }
on() {  # on here|there ARGUMENT...
  case $1 in
    here) shift; WEFT_ISA=$isa_here "$here" "$@" ;;
    there) shift; WEFT_ISA=$isa_there $there "$@" ;;
  esac
}
run() { on "$@" >log 2>&1 || { cat log; fail "failed: $*"; }; }
same() { cmp "$1" "$2" || fail "$3"; }
uses() {  # uses here|there ISA
  on "$1" info | tr -d '\r' | grep -qx "instruction set $2" || fail "$1: expected the kernels of $2"
}
uses here "$isa_here"
uses there "$isa_there"

# A text of numbers, and rows with one of two labels.
seq 2000 >text.txt
{ echo text,label; for i in $(seq 40); do echo "one apple $i,fruit"; echo "one hammer $i,tool"; done; } >rows.csv
printf 'one hammer\none apple\n' >questions

files="best/model.safetensors best/config.json last/model.safetensors last/config.json last/training.safetensors"
# exchange NAME OPTION FILE OPTION...: trains on both sides, and resumes both runs on both sides. The first option names
# the data. It is given again, because another operating system may have another path to it.
exchange() {
  name=$1 data=$2 file=$3
  shift 3
  for side in here there; do
    run $side train "$data" "$file" "$@" --layers 1 --d-model 16 --batch 8 --threads 2 --steps 20 --out "$name-$side"
    for next in here there; do
      cp -r "$name-$side" "$name-$side-$next"
      run $next train --resume "$name-$side-$next" "$data" "$file" --steps 30
    done
  done
  for part in $files; do
    same "$name-here/$part" "$name-there/$part" "$name: 20 steps differ"
    for end in here-there there-here there-there; do
      same "$name-here-here/$part" "$name-$end/$part" "$name: the resumed run $end differs"
    done
  done
}
exchange gmlp --text text.txt --arch gmlp --seq-len 16 --optimizer adamw
exchange tnn --text text.txt --arch tnn --seq-len 16 --optimizer lion --dropout 0.1
exchange fnet --data rows.csv --arch fnet --pad-to exact --lr 1e-2 --precision bf16
exchange words --data rows.csv --arch gmlp --tokenizer words --lr 1e-2

for side in here there; do
  on $side generate gmlp-here --prompt 12 --tokens 20 --seed 3 >generated-$side 2>log || { cat log; exit 1; }
  on $side classify words-there <questions >classified-$side 2>log || { cat log; exit 1; }
  for type in bf16 int8 int4; do run $side quantize words-here --to $type --out $type-$side; done
done
same generated-here generated-there "generated texts differ"
same classified-here classified-there "probabilities differ"
for type in bf16 int8 int4; do
  same $type-here/model.safetensors $type-there/model.safetensors "$type: the weights differ"
done
echo "the same bytes: $(find . -name '*.safetensors' | wc -l) files of tensors, a generated text, and probabilities"
