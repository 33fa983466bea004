#!/usr/bin/env bash
# The parts of tools/setup.sh and tools/quickstart that differ from machine to machine.
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

# A system without apt-get that has what is named: only these commands and headers.
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
  "script: missing here, by the names of Debian's packages: g++ cmake binutils. Install their equivalents and run this again"
for name in clang++ cmake nm; do cp "$work/bin/make" "$work/bin/$name"; done
expect "all is there" "$(elsewhere g++ ninja-build cmake binutils)" ready
if [ ! -f /usr/include/CLI/CLI.hpp ] && [ ! -f /usr/local/include/CLI/CLI.hpp ]; then
  expect "a header is missing" "$(elsewhere libcli11-dev | grep -c libcli11-dev)" 1
fi
touch "$work/prefix/include/CLI/CLI.hpp"
expect "a header in CMAKE_PREFIX_PATH" "$(elsewhere libcli11-dev)" ready

# apt-get: the lists are fetched only if installing fails without.
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

# What can be done without is skipped by name.
rm "$work/bin/apt-get"
expect "optional packages" "$(PATH=$work/bin CI=1 "$bash" -c '. "$1/tools/setup.sh"; want_packages doxygen; say on' script "$source" 2>&1 |
  tail -n 2)" $'Going on without\non'
part_of() { sed -n "/^$1()/,/^}/p" "$source/tools/check"; }
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

# --times: each step is a line, also one that fails, whose status is the command's; the CPU time is that of its children.
times_of() {
  bash -c 'set -euo pipefail; . "$1/tools/setup.sh"; eval "$2"; stage=plain; cpu=0
    busy() { bash -c "for ((i = 0; i < 400000; ++i)); do :; done"; }
    step build busy; step tests bash -c "exit 3" && exit 9 || say "status $?"; children; print_times' \
    script "$source" "$(part_of print_times)" 2>&1 || echo failed
}
expect "times" "$(times_of | sed 's/  */ /g' | sed -E 's/[0-9]+ [0-9]+[.][0-9]$/N N/')" \
  $'status 3\npart step seconds CPU\nplain build N N\nplain tests N N\ntotal - N N'
expect "CPU time of a step" "$(times_of | awk '$2 == "build" { print ($4 > 0) }')" 1

# The prompt of a text whose byte 400 is inside a character.
eval "$(sed -n '/^prompt_of()/,/^}/p' "$source/tools/quickstart")"
{ printf 'one two – three four'; for _ in {1..300}; do printf 'é'; done; printf '\nsecond\n'; } >"$work/text"
expect "prompt" "$(prompt_of "$work/text" || echo failed)" "one two –"
{ printf 'a'; for _ in {1..300}; do printf 'é'; done; } >"$work/text"
expect "prompt, cut one byte on" "$(prompt_of "$work/text" | wc -c)" 400

# The presets build the tests, also in a folder that quickstart configured without them.
for preset in release sanitize clang; do
  [ $preset != clang ] || command -v clang++ >/dev/null || continue
  for flag in -DWEFT_TESTS=OFF -Wno-dev; do
    (cd "$source" && cmake --preset "$preset" -B "$work/$preset" "$flag") >"$work/log" 2>&1 || cat "$work/log" >&2
  done
  expect "preset $preset" "$(grep -o '^WEFT_TESTS:.*' "$work/$preset/CMakeCache.txt")" "WEFT_TESTS:BOOL=ON"
done
exit $failed
