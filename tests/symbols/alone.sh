#!/bin/sh
# alone.sh NM PROGRAM
# A static program that only runs FNet, linked with --gc-sections: it contains FNet, but not the other models, and no
# code that trains, reads data or tokenizes texts.
set -eu
nm=$1 program=$2
names=$("$nm" -C --defined-only "$program" | cut -d ' ' -f 3-)
echo "$names" | grep -q '^weft::Fnet::' || { echo "no FNet in $program"; exit 1; }
foreign=$(echo "$names" | grep -E 'weft::(detail::)?(Gmlp|Tnn|Tno|Rpe|Trainer|Optimizer|Classifier|RunFolder|Tokenizer|Vocabulary|generate|toeplitz_\w+)\b' || true)
if [ -n "$foreign" ]; then
  echo "beside FNet:"
  echo "$foreign" | head -n 20
  exit 1
fi
echo "$(wc -c <"$program") bytes, FNet alone"
