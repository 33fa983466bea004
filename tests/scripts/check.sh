#!/usr/bin/env bash
# Tests the parts of tools/setup.sh and tools/quickstart that differ between machines.
# usage: check.sh SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# expect WHAT GOT WANTED
expect() {
  [ "$2" = "$3" ] || { printf '%s\n  got:      %s\n  expected: %s\n' "$1" "$2" "$3" >&2; failed=1; }
}

# A system without apt-get that has only the given commands and headers.
mkdir -p "$work/bin" "$work/prefix/include"/{weft,CLI}
ln -s "$(command -v dirname)" "$(command -v basename)" "$work/bin"
bash=$(command -v bash)
elsewhere() {
  local yes=
  [ "$1" != --yes ] || { yes=1; shift; }
  PATH=$work/bin CMAKE_PREFIX_PATH=$work/prefix:$work/other CXX= CI=$yes "$bash" -c '
    set -euo pipefail; . "$1/tools/setup.sh"; shift; need_packages "$@"; say ready' script "$source" "$@" 2>&1 || true
}
touch "$work/bin/make" && chmod +x "$work/bin/make"
expect "make does as well as ninja, no package is missing" "$(elsewhere ninja-build)" ready
expect "only what is missing is named" "$(elsewhere g++ ninja-build cmake binutils)" \
  "script: these Debian packages are missing: g++ cmake binutils. Install their equivalents and run this script again"
for name in clang++ cmake nm; do cp "$work/bin/make" "$work/bin/$name"; done
expect "all is there" "$(elsewhere g++ ninja-build cmake binutils)" ready
if [ ! -f /usr/include/CLI/CLI.hpp ] && [ ! -f /usr/local/include/CLI/CLI.hpp ]; then
  expect "a header is missing" "$(elsewhere libcli11-dev | grep -c libcli11-dev)" 1
fi
touch "$work/prefix/include/CLI/CLI.hpp"
expect "a header in CMAKE_PREFIX_PATH" "$(elsewhere libcli11-dev)" ready

# apt-get fetches the package lists only if installing without that fails.
printf '#!%s\necho "$*" >>"%s/calls"\n[ "$1" = update ] && : >"%s/fresh"; [ -e "%s/fresh" ]\n' "$bash" "$work" "$work" "$work" \
  >"$work/bin/apt-get"
chmod +x "$work/bin/apt-get"
for command in mktemp rm env id tail; do ln -sf "$(command -v "$command")" "$work/bin"; done
printf '#!%s\nexec "$@"\n' "$bash" >"$work/bin/sudo" && chmod +x "$work/bin/sudo"
install="install -q -y --no-install-recommends bible-kjv"
elsewhere --yes bible-kjv >/dev/null
expect "apt-get with old lists" "$(cat "$work/calls")" "$install"$'\nupdate -q\n'"$install"
rm "$work/calls"
elsewhere --yes bible-kjv >/dev/null
expect "apt-get with fresh lists" "$(cat "$work/calls")" "$install"

# Missing optional packages are named and skipped.
rm "$work/bin/apt-get"
expect "optional packages" "$(PATH=$work/bin CI=1 "$bash" -c '. "$1/tools/setup.sh"; want_packages doxygen; say on' script "$source" 2>&1 |
  tail -n 2)" $'Continuing without these packages\non'
part_of() { sed -n "/^$1()/,/^}/p" "$source/tools/check"; }
# tools/setup.sh knows the packages of all parts. Each name in a case of packages_of is a part, or several.
expect "packages of all parts" "$("$bash" -c '. "$1/tools/setup.sh"; eval "$2"
  for part in $(grep -oE "^    [a-z0-9 |]+\)" <<<"$2" | tr -d "|)"); do
    missing_packages $(packages_of "$part") $(tested_with "$part") >/dev/null
  done' script "$source" "$(part_of packages_of; part_of tested_with)" 2>&1)" ""
run_parts() {  # the parts of tools/check in a checkout that holds one file, $1
  mkdir -p "$work/checkout"
  (cd "$work/checkout" && git init -q && cp "$source/.clang-format" . && printf '%s\n' "$1" >a.cpp
   "$bash" -c '. "$1/tools/setup.sh"; set -euo pipefail; eval "$2"; skipped=(); have() { [ "$1" != gone ]; }
     part_nothing() { say ran; }; part nothing gone; part nothing there; part format; say "${skipped[@]}"' \
     script "$source" "$(part_of part; part_of part_format)" 2>&1 || echo failed)
}
if bash -c '. "$1/tools/setup.sh"; clang_format' script "$source" >/dev/null && command -v git >/dev/null; then
  expect "parts" "$(run_parts 'int a = 1;' | sed 's| [0-9]* s$||' | tr '\n' ' ')" "ran nothing: format: skipped: nothing (missing: gone) "
  expect "a file that isn't formatted" "$(run_parts 'int  a=1;' | tail -n 1)" failed
fi

# --times prints a line for each step, even for a step that fails. Its status is that of the command, and the CPU time
# is that of child processes.
times_of() {
  bash -c 'set -euo pipefail; . "$1/tools/setup.sh"; eval "$2"; stage=plain; cpu=0
    busy() { bash -c "for ((i = 0; i < 400000; ++i)); do :; done"; }
    step build busy; step tests bash -c "exit 3" && exit 9 || say "status $?"; children; print_times' \
    script "$source" "$(part_of print_times)" 2>&1 || echo failed
}
expect "times" "$(times_of | sed 's/  */ /g' | sed -E 's/[0-9]+ [0-9]+[.][0-9]$/N N/')" \
  $'status 3\npart step seconds CPU\nplain build N N\nplain tests N N\ntotal - N N'
expect "CPU time of a step" "$(times_of | awk '$2 == "build" { print ($4 > 0) }')" 1

# Progress of a build: a line for each quarter or, on a terminal, one line that is rewritten. The log has all output.
progress_of() {
  printf '%s\n' "$@" >"$work/lines"
  rm -f "$work/build-log"
  bash -c '. "$1/tools/setup.sh"; show_build "$2" <"$3"' script "$source" "$work/build-log" "$work/lines"
}
ninja_lines=("[0/2] Re-checking globbed directories..." "[1/8] Building CXX object a.o" "[2/8] Building CXX object b.o" warning
             "[3/8] Building CXX object c.o" "[4/8] Building CXX object d.o" "[8/8] Linking CXX executable weft")
expect "progress of ninja" "$(progress_of "${ninja_lines[@]}")" "  2 of 8 files, less than a minute left
  4 of 8 files, less than a minute left
  8 of 8 files, less than a minute left"
expect "the log of a build" "$(cat "$work/build-log")" "$(printf '%s\n' "${ninja_lines[@]}")"
expect "progress of make" "$(progress_of "[  9%] Building CXX object a.o" "[ 30%] Building CXX object b.o" "[100%] Built target weft")" \
  "  30 %, less than a minute left"
expect "time left" "$(bash -c '. "$1/tools/setup.sh"; time_left 10 100 20; time_left 30 100 28; time_left 1 2 61' script "$source")" \
  "about 3 min left
about 2 min left
about 2 min left"
if command -v script >/dev/null; then
  expect "progress in a terminal" "$(TERM=dumb script -qec "bash -c '. $source/tools/setup.sh; show_build /dev/null <$work/lines'" /dev/null |
    tr '\r\033' '<^')" "<^[K  9 %, less than a minute left<^[K  30 %, less than a minute left<^[K"
fi

# A build: an error ends it and is shown. Its steps are recorded as laps, and its log is removed.
build_of() {
  mkdir -p "$work/tree/tools" "$work/fake"
  cp "$source/tools/setup.sh" "$work/tree/tools"
  printf '#!%s\n[ "$1" = --build ] || exit 0\necho "[1/1] Building $*"\nexit %s\n' "$bash" "$1" >"$work/fake/cmake"
  chmod +x "$work/fake/cmake"
  PATH=$work/fake:$PATH bash -c 'set -euo pipefail; . "$1/tools/setup.sh"; configure_and_build small; say "${laps[@]%% [0-9]*}"' \
    script "$work/tree" 2>&1 || echo "status $?"
}
log=$work/tree/build-small.log
expect "a build" "$(build_of 0)" "Building (small; the whole output is in $log) ...
  1 of 1 files, less than a minute left
install configure
install build"
expect "a build's log" "$(ls "$log" 2>/dev/null)" ""
expect "a build that fails" "$(build_of 3 | sed -n '3p;$p' | sed 's/Building .*/Building/')" "[1/1] Building
status 1"

# tools/quickstart with a cmake and a weft that print their arguments.
cp "$source/tools/quickstart" "$work/tree/tools"
for header in xsimd/xsimd.hpp nlohmann/json.hpp sentencepiece_processor.h; do
  mkdir -p "$(dirname "$work/prefix/include/$header")" && touch "$work/prefix/include/$header"
done
printf '#!%s\necho "$*" >>"%s/asked"\nmkdir -p build/tools\nprintf "#!%s\\necho weft \\$*\\n" >build/tools/weft\nchmod +x build/tools/weft\n' \
  "$bash" "$work" "$bash" >"$work/fake/cmake"
cp "$work/bin/make" "$work/fake/c++"
echo "one two three four" >"$work/tree/text"
(cd "$work/tree" && CXX= CMAKE_PREFIX_PATH=$work/prefix PATH=$work/fake:$PATH tools/quickstart --text text) >"$work/said" 2>&1 || echo failed >>"$work/said"
expect "what quickstart builds" "$(sed 's/ --parallel .*//' "$work/asked")" \
  "--preset release -DWEFT_TESTS=OFF -DWEFT_ISAS=best
--build --preset release"
expect "what quickstart trains" "$(sed -n 's/^weft train --arch \([a-z]*\) .*/\1/p' "$work/said" | tr '\n' ' ')" "gmlp tnn "
expect "how quickstart ends" "$(tail -n 4 "$work/said")" 'Try next:
  build/tools/weft eval quickstart-out/tnn --text text
  build/tools/weft generate quickstart-out/gmlp --prompt "one two three" --tokens 500
  build/tools/weft train --resume quickstart-out/tnn --steps 2000'

# The prompt comes from a text whose byte 400 is inside a character.
eval "$(sed -n '/^prompt_of()/,/^}/p' "$source/tools/quickstart")"
{ printf 'one two – three four'; for _ in {1..300}; do printf 'é'; done; printf '\nsecond\n'; } >"$work/text"
expect "prompt" "$(prompt_of "$work/text" || echo failed)" "one two –"
{ printf 'a'; for _ in {1..300}; do printf 'é'; done; } >"$work/text"
expect "prompt, cut one byte on" "$(prompt_of "$work/text" | wc -c)" 400

# The presets build the tests, even in a folder that quickstart configured without them.
for preset in release sanitize clang; do
  [ $preset != clang ] || command -v clang++ >/dev/null || continue
  for flag in -DWEFT_TESTS=OFF -Wno-dev; do
    (cd "$source" && cmake --preset "$preset" -B "$work/$preset" "$flag") >"$work/log" 2>&1 || cat "$work/log" >&2
  done
  expect "preset $preset" "$(grep -o '^WEFT_TESTS:.*' "$work/$preset/CMakeCache.txt")" "WEFT_TESTS:BOOL=ON"
done
exit $failed
