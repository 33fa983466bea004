#!/bin/sh
# exchange.sh WEFT OTHER...
# Exchanges runs between this machine and another processor. WEFT is the weft command for this machine. OTHER... runs
# the weft command of the other processor. Both must have the kernels of generic. Then all files must have the same
# bytes, whichever processor wrote them. Exits with 77 if WEFT does not exist.
set -eu
here=$1
shift
there=$*
[ -x "$here" ] || { echo "skipped: there is no $here (preset generic)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "$*"; exit 1; }
on() {  # on here|there ARGUMENT...
  case $1 in
    here) shift; "$here" "$@" ;;
    there) shift; $there "$@" ;;
  esac
}
run() { on "$@" >log 2>&1 || { cat log; fail "failed: $*"; }; }
same() { cmp "$1" "$2" || fail "$3"; }
for side in here there; do
  on $side info | grep -q '^instruction set generic$' || fail "$side: expected the kernels of generic"
done

# A text of numbers, and rows with one of two labels.
seq 2000 >text.txt
{ echo text,label; for i in $(seq 40); do echo "one apple $i,fruit"; echo "one hammer $i,tool"; done; } >rows.csv
printf 'one hammer\none apple\n' >questions

files="best/model.safetensors best/config.json last/model.safetensors last/config.json last/training.safetensors"
# exchange NAME OPTION...: trains on both sides, and resumes both runs on both sides.
exchange() {
  name=$1
  shift
  for side in here there; do
    run $side train "$@" --layers 1 --d-model 16 --batch 8 --threads 2 --steps 20 --out "$name-$side"
    for next in here there; do
      cp -r "$name-$side" "$name-$side-$next"
      run $next train --resume "$name-$side-$next" --steps 30
    done
  done
  for file in $files; do
    same "$name-here/$file" "$name-there/$file" "$name: 20 steps differ"
    for end in here-there there-here there-there; do
      same "$name-here-here/$file" "$name-$end/$file" "$name: the resumed run $end differs"
    done
  done
}
exchange gmlp --arch gmlp --text text.txt --seq-len 16 --optimizer adamw
exchange tnn --arch tnn --text text.txt --seq-len 16 --optimizer lion --dropout 0.1
exchange fnet --arch fnet --data rows.csv --pad-to exact --lr 1e-2 --precision bf16
exchange words --arch gmlp --data rows.csv --tokenizer words --lr 1e-2

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
