#!/usr/bin/env bash
# check.sh WEFT: trains small runs and loads their reports in a headless browser, wide and narrow. Each page states how
# many figures it has and how many of them are drawn correctly (tools/report/page.js). Nothing may be logged.
set -euo pipefail
weft=$1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "skipped: the page in a browser (missing: chromium)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
fail() { printf '%s\n' "$*" >&2; failed=1; }

for i in {1..60}; do printf 'line %d: the quick brown fox – jumps <over> & "on"\n' $((i * 7)); done >text
for i in {1..60}; do printf '"%d","","row %d of <b>kind</b> %d & more"\n' $((i % 3 + 1)) "$i" $((i % 3)); done >rows.csv
small="--layers 2 --d-model 16 --seq-len 16 --batch 4 --eval-every 4 --threads 1"
long=$(printf 'long%.0s' {1..30})
train() { "$weft" train $small "$@" >log 2>&1 || { cat log >&2; exit 1; }; }
train --arch gmlp --text text --steps 12 --out gmlp
train --arch tnn --text text --steps 12 --out 'tnn <script>alert("1") & ü'
train --arch tnn --task masked-lm --text text --steps 8 --set use_decay=false --set use_multi_decay=true --out masked
train --arch fnet --csv rows.csv --steps 8 --out fnet
train --arch fnet --task masked-lm --text text --steps 1 --out "$long"
train --arch gmlp --csv rows.csv --steps 12 --out classifier
cp -r gmlp nan && sed -i 's/"loss":[^,]*/"loss":null/' nan/metrics.jsonl
mkdir new && cp gmlp/run.json new
mkdir huge && cp gmlp/run.json huge
awk 'BEGIN { for (i = 1; i <= 100000; ++i) printf "{\"step\":%d,\"loss\":%f,\"seconds\":%f}\n", i, 1 + 1000 / (i + 100), i / 50 }' >huge/metrics.jsonl

# open NAME WIDTH: writes the page's elements after its script has run to NAME.dom
open() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size="$2",900 \
    --enable-logging=stderr --dump-dom "file://$work/$1.html" >"$1.dom" 2>"$1.log" || fail "$1: the browser failed"
}
said() { sed -n "s/.*<html[^>]* data-$2=\"\([^\"]*\)\".*/\1/p" "$1.dom" | head -n 1; }
# report NAME FIGURES RUN...: the page of these runs must have this many figures, all drawn
report() {
  local name=$1 figures=$2 width
  shift 2
  "$weft" report "$@" --out "$name.html" --threads 1 >/dev/null || { fail "$name: weft report failed"; return; }
  for width in 1200 500; do
    open "$name" "$width"
    [ "$(said "$name" figures) $(said "$name" drawn)" = "$figures $figures" ] ||
      fail "$name, width $width: $(said "$name" drawn) of $(said "$name" figures) figures are drawn, expected $figures:" \
        "$(grep -o 'data-drawn="[^"]*"' "$name.dom" | sort | uniq -c)"
    [ "$(said "$name" errors)" = 0 ] || fail "$name, width $width: errors"
    [ "$(said "$name" fits)" = yes ] || fail "$name, width $width: the page is wider than the window"
    ! grep 'CONSOLE' "$name.log" >&2 || fail "$name, width $width: the browser logged this"
  done
}

report gmlp 6 gmlp               # loss, learning rate, gradient norm, throughput; matrices, distances
report classifier 9 classifier   # and accuracy, macro F1, confusion
report fnet 10 fnet              # and shares, frequencies, influence
report masked 6 masked
report one-step 7 "$long"
report nan 6 nan
report new 0 new
report huge 1 huge
report three 14 gmlp tnn* fnet
report eight 24 gmlp tnn* masked fnet "$long" classifier nan new

header() { grep -o '<th scope="col"[^>]*>[^<]*' "$1.dom" | sed 's/.*>//'; }
[ "$(header gmlp | grep -c 'perplexity there\|bits per byte there')" = 2 ] || fail "no perplexity of a language model"
! header classifier | grep 'perplexity\|bits' || fail "perplexity of a classifier"
grep -q '<td class="number">[0-9.]* at step [0-9]*</td><td class="number">[0-9.]*</td><td class="number">[0-9.]*</td>' gmlp.dom ||
  fail "no figures of perplexity and bits per byte"

# Faults are reported: the check can fail.
sed 's/"by_distance":\[[^]]*\]/"by_distance":["x"]/' gmlp.html >broken.html
open broken 1200
[ "$(said broken figures)" != "$(said broken drawn)" ] || fail "a figure without numbers goes unnoticed"
! grep -q '<script>alert' three.html || fail "a run's name is markup"
grep -q 'https*://' <(sed 's|http://www.w3.org/2000/svg||g; s|<script type="application/json".*||' gmlp.html) && fail "the page names another"
exit $failed
