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
words=(red "<b>" green blue "&")
labeled() {  # labeled TASK: rows of three words
  echo text,label
  for i in {1..80}; do
    case $1 in
      multilabel) label=$([ $((i % 3)) = 0 ] && echo "odd|<i>" || echo odd) ;;
      regression) label="$((i % 7)) 0.$((i % 5))" ;;
      tagging) label="O $([ $((i % 2)) = 0 ] && echo "B-<i> I-<i>" || echo "O B-X")" ;;
    esac
    echo "${words[i % 5]} ${words[i % 4]} ${words[i % 3]},$label"
  done
}
for task in multilabel regression tagging; do
  labeled $task >$task.csv
  train --arch gmlp --task $task --data $task.csv --steps 8 --out $task
done
{ echo "a<b>,b"; for i in {1..300}; do echo "$((i % 12)),$((i * 37 % 11))"; done; } >series.csv
train --arch gmlp --data series.csv --frames "a<b>,b" --target "a<b>" --horizon 4 --season 12 --steps 8 --out forecast
{ echo "text,label"; for i in {1..300}; do echo "<i>the ${words[i % 5]} $i & ${words[i % 4]},${words[i % 5]} $i"; done; } >pairs.csv
train --arch gmlp --task retrieval --data pairs.csv --validation pairs.csv --steps 8 --out retrieval
{
  printf '\0\0\10\3\0\0\0\120\0\0\0\4\0\0\0\4'
  for i in {1..80}; do for k in {1..16}; do printf "\\$(printf %o $((i * k % 200)))"; done; done
} >p-images-idx3-ubyte
{ printf '\0\0\10\1\0\0\0\120'; for i in {1..80}; do printf "\\$((i % 4))"; done; } >p-labels-idx1-ubyte
"$weft" train --arch gmlp --layers 2 --d-model 16 --data p-images-idx3-ubyte --patch 2 --steps 8 --eval-every 4 --threads 1 \
  --out pictures >log 2>&1 || { cat log >&2; exit 1; }
cp -r gmlp nan && sed -i 's/"loss":[^,]*/"loss":null/' nan/metrics.jsonl
mkdir new && cp gmlp/run.json new
mkdir huge && cp gmlp/run.json huge
awk 'BEGIN { for (i = 1; i <= 100000; ++i) printf "{\"step\":%d,\"loss\":%f,\"seconds\":%f}\n", i, 1 + 1000 / (i + 100), i / 50 }' >huge/metrics.jsonl

# open NAME WIDTH: writes the page's elements to NAME.dom after its script has run
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
report classifier 10 classifier  # and accuracy, macro F1, confusion, precision and recall
report fnet 11 fnet              # and shares, frequencies, influence
report multilabel 11 multilabel  # 7 curves; precision and recall, scores of the labels; matrices, distances
report regression 11 regression  # 6 curves; a table, residuals of 2 targets; matrices, distances
report tagging 10 tagging        # 7 curves; scores of the spans; matrices, distances
report forecast 13 forecast      # 8 curves; windows, errors of the steps, residuals; matrices, distances
report retrieval 9 retrieval     # 6 curves; recall of the nearest labels; matrices, distances
report pictures 11 pictures      # 6 curves; confusion, precision and recall, pictures; matrices, distances
report masked 6 masked
report one-step 7 "$long"
report nan 6 nan
report new 0 new
report huge 1 huge
report three 15 gmlp tnn* fnet
report eight 26 gmlp tnn* masked fnet "$long" classifier nan new

header() { grep -o '<th scope="col"[^>]*>[^<]*' "$1.dom" | sed 's/.*>//'; }
[ "$(header gmlp | grep -c 'perplexity there\|bits per byte there')" = 2 ] || fail "no perplexity of a language model"
! header classifier | grep 'perplexity\|bits' || fail "perplexity of a classifier"
grep -q '<td class="number">[0-9.]* at step [0-9]*</td><td class="number">[0-9.]*</td><td class="number">[0-9.]*</td>' gmlp.dom ||
  fail "no figures of perplexity and bits per byte"

# Checks that faults are reported, so that the test can fail.
sed 's/"by_distance":\[[^]]*\]/"by_distance":["x"]/' gmlp.html >broken.html
open broken 1200
[ "$(said broken figures)" != "$(said broken drawn)" ] || fail "a figure without numbers goes unnoticed"
! grep -q '<script>alert' three.html || fail "a run's name is markup"
grep -q 'https*://' <(sed 's|http://www.w3.org/2000/svg||g; s|<script type="application/json".*||' gmlp.html) && fail "the page names another"
exit $failed
