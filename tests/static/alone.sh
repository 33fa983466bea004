#!/bin/sh
# alone.sh PROGRAM [EMULATOR...]
# Runs the static weft command in a root folder that holds only the program and its data. There it trains, resumes,
# generates and classifies. With EMULATOR, a command that runs the program, the root folder is the usual one. Exits with
# 77 if this user may not change the root folder.
set -eu
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$program" "$folder/weft"
cd "$folder"
if [ $# -gt 0 ]; then
  weft="$* ./weft"
elif chroot . /weft --version >version 2>errors; then
  weft="chroot . /weft"
elif unshare --map-root-user chroot . /weft --version >version 2>>errors; then
  weft="unshare --map-root-user chroot . /weft"
elif grep -q 'not permitted' errors; then
  echo "skipped: this user may not change the root folder"
  exit 77
else
  cat errors
  exit 1
fi
run() { $weft "$@" >log 2>&1 || { cat log; exit 1; }; }

# A text of numbers, and rows with one of two labels.
seq 2000 >text.txt
{ echo text,label; for i in $(seq 40); do echo "one apple $i,fruit"; echo "one hammer $i,tool"; done; } >rows.csv

model="--layers 1 --d-model 16 --batch 8 --threads 2"
run train --arch gmlp --text text.txt --seq-len 16 $model --steps 6 --out whole
run train --arch gmlp --text text.txt --seq-len 16 $model --steps 3 --out part
run train --resume part --steps 6
cmp whole/last/model.safetensors part/last/model.safetensors
run generate whole --prompt 12 --tokens 20
[ "$(wc -c <log)" -ge 20 ] || { echo "expected at least 20 bytes of text, got:"; cat log; exit 1; }

run train --arch fnet --data rows.csv --pad-to exact $model --steps 200 --lr 1e-2 --out labels
printf 'one hammer\none apple\n' >questions
run classify labels --top 1 <questions
[ "$(cut -f 1 log | paste -sd ' ')" = "tool fruit" ] || { echo "expected tool and fruit, got:"; cat log; exit 1; }
echo "$(wc -c <weft) bytes: trains, resumes, generates and classifies without other files"
