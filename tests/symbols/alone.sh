#!/bin/sh
# alone.sh NM PROGRAM
# Checks a static program that only runs FNet and is linked with --gc-sections. It must contain FNet, but no other model
# and no code that trains, reads data or tokenizes texts.
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
