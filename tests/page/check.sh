#!/usr/bin/env bash
# check.sh WEFT FOLDER [FOLDER WITHOUT VECTORS]: writes pages with weft page and the engine in FOLDER, and opens them in a
# headless browser. The pages must show what the command prints. The second engine runs in a browser without WebAssembly's
# vectors. Skipped without the engine (cmake --build --preset wasm) or without chromium.
set -euo pipefail
weft=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
engine=$(realpath -m "$2")/weft-page.wasm.gz
scalar=$(realpath -m "${3:-none}")/weft-page.wasm.gz
[ -f "$engine" ] || { echo "skipped: the pages of weft page (missing: the build for WebAssembly)"; exit 77; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "skipped: the pages of weft page (missing: chromium)"; exit 77; }
command -v node >/dev/null || { echo "skipped: the pages of weft page (missing: node)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
fail() { printf '%s\n' "$*" >&2; failed=1; }

bytes=$(stat -c %s "$engine")
[ "$bytes" -le 700000 ] || fail "$engine: expected at most 700,000 bytes, got $bytes"

for i in {1..60}; do printf 'line %d: the quick brown fox – jumps <over> & "on"\n' $((i * 7)); done >text
words=(red green blue)
{ echo text,label; for i in {0..59}; do echo "the ${words[i % 3]} <b>thing</b> $i,${words[i % 3]} <i>&"; done; } >rows.csv
small="--layers 2 --d-model 16 --seq-len 16 --batch 4 --threads 1"
train() { "$weft" train $small "$@" >log 2>&1 || { cat log >&2; exit 1; }; }
train --arch gmlp --text text --steps 60 --out gmlp
train --arch tnn --text text --steps 60 --out tnn
train --arch gmlp --data rows.csv --steps 60 --out classifier
train --arch fnet --data rows.csv --steps 60 --out fourier
train --arch fnet --task masked-lm --text text --steps 1 --out masked

# write MODEL: writes MODEL.html
write() { "$weft" page "$1" --engine "$engine" --out "$1.html" --overwrite >log 2>&1 || fail "$1: $(cat log)"; }
# run NAME TEXT [SCRIPT]: opens NAME.html with the text in its address, and prints the result of the script (browser.mjs)
run() { node "$here/browser.mjs" "$browser" "$work/profile" "file://$work/$1.html#$2" "${@:3}" || fail "$1: see above"; }

for model in gmlp tnn; do
  write $model
  shown=$(run $model 'line%207:' 'return at("written").textContent;')
  "$weft" quantize $model --to int8 --out $model-int8 >log 2>&1 || fail "$(cat log)"
  expected=$("$weft" generate $model-int8 --prompt 'line 7:' --tokens 300 --temperature 0.7 --seed 1 2>/dev/null)
  # Other instruction sets round differently, so the texts may differ later.
  [ ${#shown} -gt 250 ] && [ "${shown:0:50}" = "${expected:0:50}" ] ||
    fail "$model: the page's text is \"$shown\", the command's is \"$expected\""
done
shown=$(run gmlp '' 'type("prompt", "line"); at("tokens").value = 100000; at("write").click();
  await until(() => at("added").textContent !== ""); const before = `${state()} ${at("stop").disabled}`;
  at("stop").click(); await idle(); return `${before} ${state()} ${at("added").textContent.length < 90000}`;')
[ "$shown" = "writing false ready true" ] || fail "the button Stop: $shown"
shown=$(run gmlp '' 'at("settings").noValidate = true; at("temperature").value = -1; at("write").click(); await idle();
  return state() + at("error").textContent;')
[[ $shown == refused*temperature* ]] || fail "a temperature below 0: $shown"

write classifier
shown=$(run classifier 'the%20green%20thing' 'return at("bars").firstChild.querySelector(".name").textContent;')
best=$(echo 'the green thing' | "$weft" classify classifier --top 1)
[ "$shown" = "${best%%$'\t'*}" ] || fail "classifier: the page shows \"$shown\" first, the command prints \"$best\""
shown=$(run classifier '' 'type("text", "a red thing"); const first = at("bars").textContent; type("text", " ");
  return first.startsWith("red <i>&") + " " + first.split("%").length + " " + at("bars").children.length;')
[ "$shown" = "true 4 0" ] || fail "classifier: typing: $shown"

# The pictures have a row and a column for each token that the model reads. Rows of classifiers begin with [cls], and are
# padded to 16 tokens here.
write fourier
for model in gmlp classifier fourier; do
  shown=$(run $model 'red%20green%20blue' 'const rows = at("table").querySelectorAll("tbody tr");
    return `${rows.length} ${rows[0].cells.length} ${rows[1].cells[0].textContent} ${at("layer").options.length}`;')
  case $model in
    gmlp) expected="14 15 e 2" ;;
    classifier) expected="4 5 red 2" ;;
    fourier) expected="4 5 red 1" ;;
  esac
  [ "$shown" = "$expected" ] || fail "$model: the picture has \"$shown\", expected \"$expected\""
done
shown=$(run fourier 'red%20green%20blue' 'const row = at("table").querySelectorAll("tbody tr")[3];
  return `${row.cells[3].title}; ${row.cells[4].title} ${row.cells[4].className}`;')
[ "$shown" = "blue ← green: -0.707; blue ← blue: -0.924 negative" ] || fail "fourier: the cells are \"$shown\""
words=$(printf 'red%%20%.0s' {1..40})
shown=$(run classifier "$words" 'return `${at("table").querySelectorAll("tbody tr").length} ${at("shown").textContent}`;')
[ "$shown" = "16 " ] || fail "classifier: a longer text has \"$shown\""
# W[1, 2] of the first layer, rounded to the picture's precision: the cell in the row of the first word.
expected=$("$weft" report classifier --out report.html >log 2>&1 && node -e '
  const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(require("fs").readFileSync("report.html", "utf8"))[1]);
  const grid = data.runs[0].learned.layers[0].matrix, bytes = Buffer.from(grid.cells, "base64");
  console.log((bytes.readInt16LE(2 * (grid.columns + 2)) / 32767 * grid.scale).toPrecision(3));')
shown=$(run classifier 'red%20green%20blue' 'return at("table").querySelectorAll("tbody tr")[1].cells[3].title;')
[ "$shown" = "red ← green: $expected" ] || fail "classifier: the cell is \"$shown\", the report has \"$expected\""
shown=$(run tnn '12' 'const row = (i) => Array.from(at("table").querySelectorAll("tbody tr")[i].cells).slice(1);
  type("prompt", "1234"); const before = row(2)[1].title; at("layer").value = 1; at("layer").dispatchEvent(new Event("change"));
  return [row(0)[1].title === "", row(1)[0].title.split(":")[1] === row(3)[2].title.split(":")[1], row(2)[1].title !== before]
    .join(" ");')
[ "$shown" = "true true true" ] || fail "tnn: the picture is not causal, not Toeplitz, or the same for all layers: $shown"
shown=$(run gmlp '' 'type("prompt", "line 7: the quick brown fox jumps over"); return at("shown").textContent;')
[ "$shown" = "These are the first 16 of 38 tokens." ] || fail "gmlp: a longer text: $shown"

sed 's/"version":"[^"]*"/"version":"9.9"/' gmlp.html >other.html
[[ $(run other '' 'return state() + at("error").textContent;') == failed*9.9* ]] || fail "an engine of another version"
sed '/id="model"/s/id="model">.\{400\}/id="model">/' gmlp.html >damaged.html
[[ $(run damaged '') == failed ]] || fail "a damaged model goes unnoticed"
sed 's/at("title").textContent = data.title/console.error("here")/' gmlp.html >loud.html
! node "$here/browser.mjs" "$browser" "$work/profile" "file://$work/loud.html" >/dev/null 2>&1 || fail "a message goes unnoticed"

# Without SSSE3 and SSE4.1, V8 refuses vectors.
export BROWSER_OPTIONS="--js-flags=--no-enable-ssse3 --no-enable-sse4-1"
shown=$(run classifier 'red' 'return state() + at("error").textContent;')
[[ $shown == failed*vectors*--engine* ]] || fail "a browser without vectors: $shown"
if [ -f "$scalar" ]; then
  "$weft" page classifier --engine "$scalar" --out scalar.html >log 2>&1 || fail "$(cat log)"
  shown=$(run scalar 'the%20green%20thing' 'return at("bars").firstChild.querySelector(".name").textContent;')
  [ "$shown" = "${best%%$'\t'*}" ] || fail "without vectors: the page shows \"$shown\" first"
fi
unset BROWSER_OPTIONS

refused() {  # refused MESSAGE ARGUMENT...
  local message=$1
  shift
  ! "$weft" page "$@" >log 2>&1 || fail "not refused: $*"
  grep -qF "$message" log || fail "expected \"$message\", got: $(cat log)"
}
refused 'expected a classifier of texts or a causal language model' masked --engine "$engine" --out masked.html
refused 'already exists and is not a page of weft' gmlp --engine "$engine" --out text
refused 'build it in weft' gmlp --out other.html
refused 'expected a file that gzip compressed' gmlp --engine text --out other.html
refused 'give --out' gmlp
! grep -q 'https*://' <(sed 's/<script type="text.*//' gmlp.html) || fail "the page names another"
exit $failed
