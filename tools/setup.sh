# Functions for tools/quickstart and tools/check, which source this file. They find or install packages of the
# distribution, and build weft.
# Functions: say, die, step, need_packages, want_packages, missing_packages, clang_format, configure_and_build,
# show_build. Needs bash.

assume_yes=${CI:+1}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$@"; }  # prints each argument on a line
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# step NAME COMMAND...: runs the command and adds a line to laps, with the stage, NAME, the elapsed seconds and the
# seconds of CPU time.
laps=()
stage=install
children() {  # sets cpu to the CPU time of finished commands, in hundredths of a second
  local line fields
  read -r line <"/proc/$$/stat" && read -r -a fields <<<"${line##*) }" && cpu=$((fields[13] + fields[14])) || cpu=0
}
step() {
  local name=$1 start=$SECONDS cpu before status=0
  shift
  children
  before=$cpu
  "$@" || status=$?
  children
  laps+=("$stage $name $((SECONDS - start)) $(((cpu - before) / 100)).$(((cpu - before) / 10 % 10))")
  return "$status"
}

# The packages that the library, the weft command and the tests need.
build_packages=(g++ ninja-build cmake libxsimd-dev nlohmann-json3-dev libcli11-dev)
# The packages that tools/packaging/deb also needs.
deb_packages=(debhelper dh-python lintian libcpp-httplib-dev libpng-dev libsentencepiece-dev libturbojpeg0-dev
              pkg-config python3-dev python3-numpy python3-venv)

have_command() {
  local name
  for name in "$@"; do ! command -v "$name" >/dev/null || return 0; done
  return 1
}

have_header() {
  local folder folders
  IFS=: read -r -a folders <<<"${CMAKE_PREFIX_PATH:-}:/usr/local:/usr"
  for folder in "${folders[@]}"; do [ ! -f "${folder:-/usr}/include/$1" ] || return 0; done
  return 1
}

# Prints the name of the command that is clang-format 14. Fails if there is none.
clang_format() {
  local name
  for name in clang-format-14 clang-format; do
    case $("$name" --version 2>/dev/null) in *"version 14."*) echo "$name"; return ;; esac
  done
  return 1
}

# Checks whether clang can compile and link an OpenMP program. Clang's package doesn't include the OpenMP library.
clang_has_openmp() {
  echo '#include <omp.h>
    int main() { return omp_get_max_threads(); }' | clang++ -fopenmp -x c++ - -o /dev/null 2>/dev/null
}

# have PACKAGE: checks whether the parts of this Debian package that weft needs are installed, from any source.
have() {
  case $1 in
    g++) have_command ${CXX:+"$CXX"} c++ g++ clang++ ;;
    ninja-build) have_command ninja make ;;
    cmake) have_command cmake ;;
    binutils) have_command nm ;;
    clang) have_command clang++ ;;
    libclang-rt-14-dev) [ -e "$(clang++ --print-file-name=libclang_rt.fuzzer-x86_64.a 2>/dev/null)" ] ;;
    clang-format) clang_format >/dev/null ;;
    doxygen) have_command doxygen ;;
    libomp-dev) clang_has_openmp ;;
    dpkg-dev) have_command dpkg-shlibdeps ;;
    debhelper) have_command dh ;;
    dh-python) have_command dh_python3 ;;
    lintian | mmdebstrap | unzip | zopfli) have_command "$1" ;;
    abigail-tools) have_command abidiff ;;
    pkg-config) have_command pkg-config ;;
    qemu-user) have_command qemu-x86_64 qemu-x86_64-static ;;
    g++-mingw-w64-x86-64-posix) have_command x86_64-w64-mingw32-g++-posix ;;
    emscripten) have_command em++ ;;
    nodejs) have_command node nodejs ;;
    wine64) have_command wine64 wine /usr/lib/wine/wine64 ;;
    g++-*-linux-gnu*) have_command "${1#g++-}-g++" ;;
    chromium) have_command chromium chromium-browser google-chrome ;;
    bible-kjv) have_command bible ;;
    wordnet-base) [ -r /usr/share/wordnet/data.noun ] ;;
    libxsimd-dev) have_header xsimd/xsimd.hpp ;;
    nlohmann-json3-dev) have_header nlohmann/json.hpp ;;
    libcli11-dev) have_header CLI/CLI.hpp ;;
    doctest-dev) have_header doctest/doctest.h ;;
    libsentencepiece-dev) have_header sentencepiece_processor.h ;;
    libbenchmark-dev) have_header benchmark/benchmark.h ;;
    libpng-dev) have_header png.h ;;
    libturbojpeg0-dev) have_header turbojpeg.h ;;
    libcpp-httplib-dev) have_header httplib.h ;;
    libopenmpi-dev) have_command mpicxx ;;
    openmpi-bin) have_command mpirun ;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
    python3-dev) [ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] ;;
    python3-numpy) python3 -c 'import numpy' 2>/dev/null ;;
    *) die "need_packages: unknown package $1" ;;
  esac
}

missing_packages() {
  local package
  for package in "$@"; do have "$package" || printf '%s\n' "$package"; done
}

# need_packages NAME...: asks, and then installs the missing packages with apt-get.
need_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null ||
    die "these Debian packages are missing: ${missing[*]}. Install their equivalents and run this script again"
  say "These packages of the distribution are missing: ${missing[*]}"
  if [ -z "$assume_yes" ]; then
    [ -t 0 ] || die "not installed: ${missing[*]}. Run with --yes to install them"
    local answer
    read -r -p "Install them now? [y/N] " answer
    case $answer in [yY]*) ;; *) die "not installed: ${missing[*]}" ;; esac
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "expected root or sudo to install packages, got neither. Run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends)
  # The package lists may be missing or outdated.
  if ! { "${install[@]}" "${missing[@]}" ||
         { "${as_root[@]}" apt-get update -q && "${install[@]}" "${missing[@]}"; }; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    mapfile -t missing < <(missing_packages "$@")
    die "apt-get failed (offline?). Still missing: ${missing[*]}"
  fi
  rm -f "$log"
}

# want_packages NAME...: does the same for optional packages, without which the script continues.
want_packages() { (need_packages "$@") || say "Continuing without these packages"; }

in_root() { (cd "$root" && "$@"); }

# time_left DONE ALL SECONDS: prints the estimated remaining time if DONE of ALL steps took SECONDS.
time_left() {
  local left=$(($3 * ($2 - $1) / $1))
  if [ $left -lt 60 ]; then echo "less than a minute left"
  else echo "about $(((left + 59) / 60)) min left"
  fi
}

# show_build LOG: copies the output of ninja or make to LOG and shows the progress. On a terminal it rewrites one line,
# otherwise it prints a line for each quarter. Ninja counts files, make prints percentages.
show_build() {
  local line done all of shown quarter=0 start=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Building|Linking) ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} of=" of ${BASH_REMATCH[2]} files"
    elif [[ $line =~ ^\[\ *([0-9]+)%\]\ (Building|Linking) ]]; then
      done=${BASH_REMATCH[1]} all=100 of=" %"
    else
      continue
    fi
    [ "$done" -gt 0 ] || continue
    shown="  $done$of, $(time_left "$done" "$all" $((SECONDS - start)))"
    if [ -t 1 ]; then
      printf '\r\033[K%s' "$shown"
    elif [ $((4 * done / all)) -gt $quarter ]; then
      quarter=$((4 * done / all))
      say "$shown"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

# configure_and_build PRESET [CMAKE FLAG...]: configures and builds with a CMake preset.
configure_and_build() {
  local preset=$1 log=$root/build-$1.log
  shift
  say "Building ($preset; the whole output is in $log) ..."
  ! have_command ccache || export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  ! have_command ninja || export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}  # unlike make, it keeps all cores busy
  local built=0 shown
  step configure in_root cmake --preset "$preset" "$@" >"$log" 2>&1 || built=$?
  if [ $built = 0 ]; then
    exec {shown}> >(show_build "$log")
    NINJA_STATUS='[%f/%t] ' step build in_root cmake --build --preset "$preset" --parallel "$(nproc)" \
      >&"$shown" 2>&1 || built=$?
    exec {shown}>&-
    wait $!
  fi
  [ $built = 0 ] || { tail -n 40 "$log" >&2; die "the build failed; the whole output is in $log"; }
  rm -f "$log"
}
