#!/usr/bin/env bash
# windows.sh WEFT_EXE KILLED_EXE WEFT CLI_TESTS
# Tests the command for Windows, WEFT_EXE, under Wine. KILLED_EXE is the same command, but can kill itself
# (windows/kill_at.cpp). WEFT is the command for this machine, and CLI_TESTS its test program (weft-cli-tests), which
# runs on this machine and starts the commands for Windows. Exits with 77 if Wine is missing.
set -euo pipefail
windows_weft=$1 killed_weft=$2 weft=$3 cli_tests=$4
tests=$(cd "$(dirname "$0")" && pwd)
wine=
for name in wine64 wine /usr/lib/wine/wine64; do wine=${wine:-$(command -v $name || true)}; done
[ -n "$wine" ] || { echo "skipped: the command for Windows (missing: wine64)"; exit 77; }
work=$(mktemp -d)
mkdir "$work/wine"
export WINEPREFIX=$work/wine WINEDEBUG=-all
server=$(command -v wineserver || echo /usr/lib/wine/wineserver64)
trap '"$server" -k || true; "$server" -w || true; rm -rf "$work"' EXIT
"$server" -p  # else it ends after a while without programs, and a program that starts at this moment fails
under_wine=$work/weft killed_under_wine=$work/killed
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$windows_weft" >"$under_wine"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$killed_weft" >"$killed_under_wine"
chmod +x "$under_wine" "$killed_under_wine"
"$under_wine" --version

# The command's tests, except for those that name files as only this machine does, or need its signals, limits, pipes,
# links, libraries, exact last bits of probabilities or arguments of any bytes.
files='*/cli/average*,*/cli/classify_rows*,*/cli/completion*,*/cli/ema*,*/cli/embed*,*/cli/eval_generate*'
files+=',*/cli/fill_mask*,*/cli/find_rate*,*/cli/info*,*/cli/precision*,*/cli/recipes*,*/cli/recompute*,*/cli/report.cpp'
files+=',*/cli/text_pairs*,*/cli/train.cpp'
without='embeddings: an error names the text that has no vector'
without+=',report without the data or with other data*,report refuses folders*'
without+=',model card: bytes that are not UTF-8*'
WEFT=$under_wine "$cli_tests" --source-file="$files" --test-case-exclude="$without"

# Killed at each change to a file. This leaves out the test in which convert replaces a whole folder at once, because
# Windows can't do that.
WEFT=$killed_under_wine WEFT_KILL_LIBRARY='' "$cli_tests" \
  --test-case='killed at any change*,killed while*,weft convert: a folder that contains more than files*'

# The same bytes as on this machine.
for isa in sse2 avx2; do WEFT_ISA=$isa "$tests/exchange.sh" "$weft" "$under_wine"; done

# Names beyond ASCII, and texts through a pipe.
cd "$work"
mkdir "Läufe, 世界"
seq 2000 >"Läufe, 世界/Zahlen é.txt"
first=(train --text "Läufe, 世界/Zahlen é.txt" --arch tnn --layers 1 --d-model 16 --seq-len 16 --batch 8 --steps 6000
       --eval-every 50 --threads 1 --overwrite --out)
"$under_wine" "${first[@]}" "Läufe, 世界/whole" >log 2>&1 || { cat log; exit 1; }
printf '12\r\n' | "$under_wine" generate "Läufe, 世界/whole" --prompt - --tokens 5 >generated 2>log || { cat log; exit 1; }
printf '12\n' | "$weft" generate "Läufe, 世界/whole" --prompt - --tokens 5 | cmp - generated

# A run that is killed at many moments ends with the same bytes.
run="Läufe, 世界/killed"
next() {  # the arguments that begin or continue the run
  if [ -e "$run/last/training.safetensors" ]; then
    arguments=(train --resume "$run")
  else
    arguments=("${first[@]}" "$run")
  fi
}
killed=0
for milliseconds in 400 500 600 700 800 900 1000 1100 1200 1300 1400; do
  next
  "$under_wine" "${arguments[@]}" >log 2>&1 &
  sleep "$(printf '%d.%03d' $((milliseconds / 1000)) $((milliseconds % 1000)))"
  if kill -9 $! 2>/dev/null; then killed=$((killed + 1)); fi
  wait $! 2>/dev/null || true
done
next
"$under_wine" "${arguments[@]}" >log 2>&1 || { cat log; exit 1; }
for file in last/model.safetensors best/model.safetensors; do cmp "Läufe, 世界/whole/$file" "$run/$file"; done
[ "$killed" -ge 3 ] || { echo "expected at least 3 runs to be killed, got $killed"; exit 1; }
echo "killed $killed times: the same bytes"
