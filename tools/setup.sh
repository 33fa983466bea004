# Sourced by tools/quickstart and tools/check: finds or installs the distribution's packages, and builds.
# Functions: say, die, parse_setup_flag, need_packages, configure_and_build. Bash.

assume_yes=${CI:+1}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# What builds the library, the weft command and the tests.
build_packages=(g++ make cmake libxsimd-dev nlohmann-json3-dev libcli11-dev)

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

# need_packages NAME...: installs those that are missing with apt-get, after asking.
need_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die "this is no Debian or Ubuntu. Install the equivalents of these packages and build by hand as the README says: $*"
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return
  say "To install from the distribution's packages: ${missing[*]}"
  if [ -z "$assume_yes" ]; then
    [ -t 0 ] || die "not installed: ${missing[*]}. Run with --yes to install them"
    local answer
    read -r -p "Install them now? [y/N] " answer
    case $answer in [yY]*) ;; *) die "not installed: ${missing[*]}" ;; esac
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo here. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -q &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    mapfile -t missing < <(missing_packages "$@")
    die "apt-get failed (offline?). Still missing: ${missing[*]}"
  fi
  rm -f "$log"
}

# configure_and_build PRESET [CMAKE FLAG...]
configure_and_build() {
  local preset=$1
  shift
  say "Building ($preset) ..."
  (cd "$root" && cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --parallel "$(nproc)") >"$root/build-$preset.log" 2>&1 ||
    { tail -n 40 "$root/build-$preset.log" >&2; die "the build failed; the whole output is in build-$preset.log"; }
  rm -f "$root/build-$preset.log"
}
