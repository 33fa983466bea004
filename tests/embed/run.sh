#!/usr/bin/env bash
# Trains a tiny model. Then builds and runs a program that embeds weft, for each way to obtain weft.
# usage: run.sh BUILD_DIR SOURCE_DIR WEFT_COMMAND installed|subproject BASELINE [CMAKE FLAG...]
#   BASELINE    the instruction set that every CPU has; everything here uses it
#   installed   the static library of BUILD_DIR: find_package, pkg-config, a package of the distribution
#   subproject  weft in a host: add_subdirectory (static), FetchContent (shared), the host's export set; then the
#               installed host, with its build folders removed: find_package of weft and of the host, pkg-config
set -euo pipefail
build=$1 source=$2 weft=$3 way=$4
export WEFT_ISA=$5
shift 5
flags=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$1" >&2; exit 1; }
# quietly LOG COMMAND...: shows the output only if the command fails.
quietly() { local log=$work/$1.log; shift; "$@" >"$log" 2>&1 || fail "$(tail -n 40 "$log")"; }

head -c 3000 "$source/LICENSE" >"$work/text.txt"
"$weft" train --arch gmlp --text "$work/text.txt" --layers 1 --d-model 8 --seq-len 16 --batch 2 --steps 3 --out "$work/model" >"$work/train.log" 2>&1
# These are the model, prompt, seed and settings of main.cpp, so they give the same text.
expected=$("$weft" generate --checkpoint "$work/model" --prompt Permission --tokens 20 --temperature 0.8 --seed 1)

# works PROGRAM: checks that PROGRAM writes the same text as weft generate.
works() {
  "$1" "$work/model" Permission >"$work/out" || fail "$1 fails"
  local got
  got=Permission$(tail -n +2 "$work/out")
  [ "$got" = "$expected" ] || fail "$1 wrote \"$got\", weft generate \"$expected\""
}

# found NAME [CMAKE FLAG...]: builds the consumer project with the installation in $work/prefix.
found() {
  local name=$1
  shift
  quietly "$name" cmake -S "$work/consumer" -B "$work/$name" "-DCMAKE_PREFIX_PATH=$work/prefix" "${flags[@]}" "$@"
  quietly "$name-build" cmake --build "$work/$name"
  [[ $* == *LANGUAGES=C* ]] || works "$work/$name/consumer"
  works "$work/$name/c_consumer"
}

# linked: builds with only the compiler, by pkg-config.
linked() {
  command -v pkg-config >/dev/null || { echo "without pkg-config"; return; }
  local folder compiler
  folder=$(dirname "$(find "$work/prefix" -name weft.pc)")
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
  # shellcheck disable=SC2046
  quietly linked env "PKG_CONFIG_PATH=$folder" sh -c "'$compiler' -std=c++17 '$work/consumer/main.cpp' -o '$work/linked' \
    \$(pkg-config --cflags --libs weft)"
  LD_LIBRARY_PATH=$(dirname "$folder") works "$work/linked"
}

# no_traces FOLDER...: checks that installed files name none of these build folders.
no_traces() {
  local folder
  for folder in "$@"; do  # not as the end of another name, like weft/weft.h for /weft
    ! grep -rlIE "(^|[^[:alnum:]_.}-])$folder(/|\"|$)" "$work/prefix" >&2 || fail "what is installed names $folder"
  done
}

cp -r "$source/tests/embed" "$work/consumer"
if [ "$way" = installed ]; then
  quietly install cmake --install "$build" --prefix "$work/prefix"
  no_traces "$build" "$source"
  [ -n "$(find "$work/prefix" -name LICENSE)" ] || fail "LICENSE isn't installed"
  headers=$(cd "$work/prefix/include" && find . -name '*.h' | sort)
  public=$(for room in engine ops models; do (cd "$source/$room/include" && find . -name '*.h'); done | sort)
  [ "$headers" = "$public" ] || fail "the headers installed aren't the public ones: $(diff <(echo "$headers") <(echo "$public"))"
  "$work/prefix/bin/weft" --version >/dev/null || fail "the installed command doesn't start"
  found static
  ! cmake -S "$work/consumer" -B "$work/c-alone" "-DCMAKE_PREFIX_PATH=$work/prefix" -DLANGUAGES=C >"$work/c-alone.log" 2>&1 ||
    fail "the static library is found without C++"
  grep -q 'linked as C++' "$work/c-alone.log" || fail "$(cat "$work/c-alone.log")"
  linked
  if command -v dpkg-deb >/dev/null; then  # unpacked rather than installed, which needs root
    quietly cpack cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/package"
    rm -r "$work/prefix"
    quietly dpkg dpkg-deb -x "$work"/package/weft_*.deb "$work/unpacked"
    mv "$work/unpacked/usr" "$work/prefix"
    "$work/prefix/bin/weft" --version >/dev/null || fail "the package's command doesn't start"
    dpkg-deb -f "$work"/package/weft_*.deb Depends | grep -qE 'libg?omp' || fail "the package doesn't name the library of its threads"
    found package
  fi
else
  mkdir "$work/source"
  for part in CMakeLists.txt LICENSE README.md engine ops models tools; do cp -r "$source/$part" "$work/source"; done
  # With position-independent code, the shared library is linked from the objects of the static one, which take most of
  # the time.
  host() {
    quietly host cmake -S "$work/consumer/host" -B "$work/host" "-DWEFT_SOURCE_DIR=$work/source" -DWEFT_ISAS=baseline \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON "${flags[@]}" "$@"
  }
  host
  ! grep -iE 'weft|warning' "$work/host.log" >&2 || fail "weft as a subproject is not quiet"
  # Files that CMake makes for install() and enable_testing().
  ! grep -rn 'file(INSTALL' "$work/host/weft" --include=cmake_install.cmake >&2 || fail "weft as a static subproject installs"
  [ -z "$(find "$work/host" -name CTestTestfile.cmake)" ] || fail "weft as a subproject adds tests"
  quietly host-build cmake --build "$work/host" --parallel 2
  works "$work/host/consumer"

  host -DBUILD_SHARED_LIBS=ON -UWEFT_INSTALL -DWEFT_EXPORT_SET=host-targets  # like a fresh configuration
  grep -rq 'host::weft' "$work/host/CMakeFiles/Export" || fail "weft isn't in its host's export set"
  host -DWEFT_EXPORT_SET=weft-targets
  quietly shared-build cmake --build "$work/host" --parallel 2
  works "$work/host/consumer"
  soname=libweft.so.0.$(sed -n 's/^#define WEFT_VERSION_MINOR //p' "$source/engine/include/weft/version.h")
  readelf -d "$work/host/consumer" | grep -qF "[$soname]" || fail "the program doesn't ask for $soname"
  quietly install cmake --install "$work/host" --prefix "$work/prefix"
  no_traces "$work/host" "$work/source"
  rm -r "$work/host" "$work/source"
  found shared
  found c-alone -DLANGUAGES=C
  found by-host -DPACKAGE=host -DLIBRARY=host::host
  linked
fi
